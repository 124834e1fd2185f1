"""What stands for a model: a path, the bytes of a file, or what torch.export.export() gives."""

from __future__ import annotations

import ctypes
import io
import math
import sys
from collections.abc import Sequence
from typing import Any

from ._data import Tensor, array_of, arrays_of, dataset, dataset_of_arrays, is_path, suit, tensor
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


def open_model(session: Session, model: Any) -> ctypes.c_void_p:
    out = ctypes.c_void_p()
    if is_path(model):
        session.run(lib.nuc_model_open, session.handle, encode(model), ctypes.byref(out))
        return out
    name, data = model_bytes(model)
    session.keep(data)
    session.run(lib.nuc_model_open_bytes, session.handle, encode(name), address(data), len(data),
                ctypes.byref(out))
    return out


def open_with_samples(session: Session, model: Any, samples: Any, name: str) -> tuple[Any, Any]:
    """A model and the data set of its samples, None without any: sizes that the model leaves open are theirs."""
    if is_path(samples):
        session.run(lib.nuc_size_samples, session.handle, encode(samples))
    if hasattr(model, "read"):
        model = model_bytes(model)[1]
    opened = open_model(session, model)
    if samples is None:
        return opened, None
    inputs = inputs_of(session, opened)
    arrays = None if is_path(samples) else arrays_of(samples, inputs, session)
    data = dataset(samples, inputs, name, session) if arrays is None else dataset_of_arrays(arrays, name, session)
    if arrays is not None and not suit(arrays, inputs):
        session.call(lib.nuc_size_dataset, data)
        session.forget_notes()  # about the sizes of the example inputs
        opened = open_model(session, model)
    return opened, data


def size_as(session: Session, inputs: Sequence[Tensor]) -> None:
    """Sizes that models leave open are those of these inputs."""
    arrays = {t.name: array_of(bytearray(math.prod(t.shape))) for t in inputs}
    for t in inputs:
        arrays[t.name].shape = (1, *t.shape)
    session.call(lib.nuc_size_dataset, dataset_of_arrays(arrays, "program", session))


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
