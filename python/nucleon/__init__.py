"""nucleon compiles PyTorch and LiteRT models to programs for NXP i.MX RT700 microcontrollers, and runs them.

    program = nucleon.compile(torch.export.export(model.eval(), (example,)), calibration=loader)
    program.run(x)
    program.evaluate(test_loader, reference="model.pt2")
    program.save("model.pte")

This package is a thin layer over libnucleon, which is written in C. It needs nothing but Python; numpy and torch are
used where arrays and models of theirs are given. docs/python.md has everything with examples.
"""

from . import decision, frontend
from ._compile import (Quantized, Report, Tuning, compile, explain, inspect, operators, options, quantize, report,
                       targets, tune)
from ._data import Tensor
from ._evaluation import evaluate, merge_evaluations
from ._library import lib as _lib, text as _text
from ._program import Outputs, Program, Stream
from .errors import (BadInput, BadUsage, DeviceError, Error, FileError, InternalError, Note, OutOfMemory,
                     PropertyMissed, Unsupported)

__version__ = _text(_lib.nuc_version())

__all__ = [
    "BadInput", "BadUsage", "DeviceError", "Error", "FileError", "InternalError", "Note", "OutOfMemory", "Outputs",
    "Program", "PropertyMissed", "Quantized", "Report", "Stream", "Tensor", "Tuning", "Unsupported", "compile", "decision",
    "evaluate", "explain", "frontend", "inspect", "merge_evaluations", "operators", "options", "quantize", "report",
    "targets", "tune",
]
