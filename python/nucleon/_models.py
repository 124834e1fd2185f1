"""What stands for a model: a path, the bytes of a file, or what torch.export.export() gives."""

from __future__ import annotations

import ctypes
import io
import sys
from collections.abc import Sequence
from typing import Any

from ._data import Tensor, is_path, tensor
from ._library import TensorInfo, lib
from ._session import Session, address, encode
from .errors import BadUsage


def _is_a(value: Any, module: str, name: str) -> bool:
    """Without an import of what is not there: an object's module is."""
    return any(c.__name__ == name and c.__module__.startswith(module) for c in type(value).__mro__)


def archive_of(exported: Any) -> bytes:
    """An ExportedProgram as the bytes of its archive."""
    to = io.BytesIO()
    sys.modules["torch"].export.save(exported, to)
    return to.getvalue()


def model_bytes(model: Any) -> tuple[str, bytes]:
    """A name for messages, and the file."""
    if _is_a(model, "torch.export", "ExportedProgram"):
        return "ExportedProgram", archive_of(model)
    if _is_a(model, "nucleon", "Quantized"):
        return "quantized model", model.bytes
    if isinstance(model, (bytes, bytearray, memoryview)):
        return "model", bytes(model)
    if hasattr(model, "read"):
        data = model.read()
        if isinstance(data, bytes):
            return str(getattr(model, "name", None) or "model"), data
        raise BadUsage("the file of the model is open for text: open it with mode 'rb'")
    if _is_a(model, "torch.nn", "Module"):
        raise BadUsage("a torch.nn.Module is exported before it is compiled: give "
                       "torch.export.export(model.eval(), (example_input,))")
    if _is_a(model, "nucleon", "Program"):
        raise BadUsage("a program is compiled already: give the model that it was made of")
    raise BadUsage(f"{type(model).__name__} is no model: give the path or the bytes of a .pt2 or .tflite file, or what "
                   "torch.export.export() returns")


def open_model(session: Session, model: Any, samples: Any = None) -> ctypes.c_void_p:
    """``samples``: where they are a path, sizes that the model leaves open are theirs."""
    out = ctypes.c_void_p()
    if is_path(samples):
        session.run(lib.nuc_size_samples, session.handle, encode(samples))
    if is_path(model):
        session.run(lib.nuc_model_open, session.handle, encode(model), ctypes.byref(out))
        return out
    name, data = model_bytes(model)
    session.keep(data)
    session.run(lib.nuc_model_open_bytes, session.handle, encode(name), address(data), len(data),
                ctypes.byref(out))
    return out


def reference_of(model: Any, inputs: Sequence[Tensor]) -> Any:
    """A float model to compare with: a torch.nn.Module is exported for inputs of these shapes."""
    if not _is_a(model, "torch.nn", "Module"):
        return model
    torch = sys.modules["torch"]
    real = {"int8": "float32"}  # of a program whose inputs are quantized
    examples = tuple(torch.zeros(t.shape, dtype=getattr(torch, real.get(t.dtype, t.dtype))) for t in inputs)
    training = model.training
    try:
        return torch.export.export(model.eval(), examples)
    finally:
        model.train(training)


def inputs_of(session: Session, model: ctypes.c_void_p) -> Sequence[Tensor]:
    info = TensorInfo()
    found = []
    for index in range(lib.nuc_model_n_inputs(model)):
        session.check(lib.nuc_model_input(model, index, ctypes.byref(info)))
        found.append(tensor(info))
    return found
