"""The runtime over a program, which programs and evaluations use."""

from __future__ import annotations

import builtins
import ctypes
import math
from collections.abc import Mapping
from typing import Any, Protocol

from . import _data
from ._data import Tensor
from ._library import DTYPE_SIZE, SIMULATOR_PATHS, SimulatorOptions, TensorInfo, lib, text
from ._session import Progress, Session, address, encode, whole
from .errors import BadInput, BadUsage


class NamedBytes(Protocol):
    """A Program is one."""

    name: str
    bytes: builtins.bytes


def bytes_of(data: Any) -> bytes:
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise BadUsage(f"{type(data).__name__} is no program: Program(data) takes the bytes of a file, Program.load() "
                       "its path")
    return bytes(data)


def simulator_options(simulator: str, threads: int) -> SimulatorOptions:
    names = [name.replace("_", "") for name in SIMULATOR_PATHS]  # as the command line has them
    if simulator not in names:
        raise BadUsage(f"simulator '{simulator}' is none of {', '.join(names)}")
    return SimulatorOptions(names.index(simulator), whole("threads", threads))


class Runner:
    """The program, prepared to run: by one thread at a time."""

    def __init__(self, name: str, program: bytes, options: Mapping[str, Any] | None = None,
                 simulator: SimulatorOptions | None = None, progress: Progress | bool | None = None) -> None:
        self.session = Session(options, progress)
        self.uses = 0
        self.handle = ctypes.c_void_p()
        data = self.session.keep(program)
        try:
            self.session.call(lib.nuc_runner_open_bytes, encode(name), address(data),
                              len(data), ctypes.byref(simulator) if simulator is not None else None,
                              ctypes.byref(self.handle))
        except BaseException:
            self.session.close()
            raise

    def _tensors(self, count: int, function: Any) -> tuple[Tensor, ...]:
        info = TensorInfo()
        found = []
        for index in range(count):
            status = function(self.handle, index, ctypes.byref(info))
            if status != 0:
                raise BadInput("the program has an input or output that is not a tensor")
            found.append(_data.tensor(info))
        return tuple(found)

    def inputs(self) -> tuple[Tensor, ...]:
        return self._tensors(lib.nuc_runner_n_inputs(self.handle), lib.nuc_runner_input)

    def outputs(self) -> tuple[Tensor, ...]:
        found = self._tensors(lib.nuc_runner_n_outputs(self.handle), lib.nuc_runner_output)
        known = (lib.nuc_runner_output_name(self.handle, index) for index in range(len(found)))
        return tuple(t._replace(name=text(name)) if name is not None else t for t, name in zip(found, known))

    def run(self, data: ctypes.c_void_p, goes_on: bool = False) -> tuple[list[tuple[Tensor, bytearray]], tuple[int, ...]]:
        """Outputs with the elements of all samples, one after the other, and the axes of samples: how many there are, or
        sequences and their steps. `goes_on`: they are the next steps of the sequence before."""
        session, count = self.session, ctypes.c_size_t()
        session.check(lib.nuc_runner_bind(self.handle, data, None, ctypes.byref(count)))
        steps = lib.nuc_dataset_n_steps(data)
        if goes_on and steps not in (0, count.value):
            raise BadUsage(f"a stream takes the next steps of one sequence, and is given {count.value // steps} sequences")
        outputs = self.outputs()  # whether they are float or int8 depends on the data
        sizes = [math.prod(t.shape) * DTYPE_SIZE[t.dtype] for t in outputs]
        results = [bytearray(max(count.value * size, 1)) for size in sizes]
        addresses = [ctypes.addressof(ctypes.c_char.from_buffer(r)) for r in results]
        given = (ctypes.c_void_p * (lib.nuc_runner_n_inputs(self.handle) + 1))()
        taken = (ctypes.c_void_p * (len(outputs) + 1))()
        for sample in range(count.value):
            session.check(lib.nuc_dataset_sample(data, sample, given))
            if not goes_on and lib.nuc_dataset_begins(data, sample):
                session.check(lib.nuc_runner_reset(self.handle))
            for i, (start, size) in enumerate(zip(addresses, sizes)):
                taken[i] = start + sample * size
            session.check(lib.nuc_runner_run(self.handle, given, taken))
        return list(zip(outputs, results)), (count.value // steps, steps) if steps else (count.value,)

    def states(self) -> bytes:
        saved = ctypes.create_string_buffer(lib.nuc_runner_states_size(self.handle))
        self.session.check(lib.nuc_runner_save_states(self.handle, saved, len(saved)))
        return saved.raw

    def restore(self, states: bytes) -> None:
        self.session.check(lib.nuc_runner_restore_states(self.handle, states, len(states)))

    def close(self) -> None:
        self.session.close()  # the compiler releases the runner
