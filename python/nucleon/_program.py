"""Programs: run, described, saved."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from . import _data
from ._data import Tensor
from ._evaluation import evaluate
from ._files import read, write_whole
from ._library import INSPECT_FORMS, lib
from ._runner import Runner, bytes_of
from ._session import Session, address, encode
from .errors import BadUsage, DeviceError, Error, Unsupported

_USES = 256  # of a runner, after which another one takes its place: what binds data to it is freed with it


class Outputs(list[Any]):
    """The outputs of a run in their order; each is found by its name as well: ``outputs["boxes"]``, or by the one that
    ``nucleon run`` gives an output without a name of its own: ``outputs["out1"]``."""

    def __init__(self, values: Iterable[Any], names: Iterable[str]) -> None:
        super().__init__(values)
        self.names = tuple(names)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        numbers = [f"out{index}" for index in range(len(self))]
        names = self.names if key in self.names else numbers
        if key not in names:
            raise BadUsage(f"no output is called '{key}': they are {', '.join(self.names)}")
        return super().__getitem__(names.index(key))

    def keys(self) -> tuple[str, ...]:
        return self.names

    def items(self) -> list[tuple[str, Any]]:
        return list(zip(self.names, self))


class Program:
    """A program file (.pte) in memory.

    ``bytes`` are those that ``nucleon compile`` writes. ``report`` has the figures of the compilation as
    ``nucleon compile --json`` prints them (docs/json.md); it is empty for a program that was loaded. Programs may be
    copied, pickled, and used by several threads at once.
    """

    def __init__(self, data: bytes, name: str = "program", report: Mapping[str, Any] | None = None,
                 maps: Mapping[str, str] | None = None) -> None:
        self.bytes = bytes_of(data)
        self.name = name
        self.report = dict(report or {})
        self._maps = dict(maps or {})
        self._open()

    def _open(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[bool, list[Runner]] = {False: [], True: []}  # True: runners that were given int8 data
        self._closed = False
        self._tensors: tuple[tuple[Tensor, ...], tuple[Tensor, ...]] | None = None

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Program:
        """The program of a file."""
        if not _data.is_path(path):
            raise BadUsage("Program.load() takes a path; Program(data) takes the bytes of a file")
        program = Program(read(path), os.fspath(path))
        try:
            program._describe()  # what is no program is refused here
        except (DeviceError, Unsupported):
            pass  # microcode for silicon: it is described and saved, but not run
        return program

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file: whole, or not at all."""
        write_whole(path, self.bytes)

    def __bytes__(self) -> bytes:
        return self.bytes

    def __len__(self) -> int:
        return len(self.bytes)

    def __repr__(self) -> str:
        if self._closed:
            return f"<nucleon.Program '{self.name}', closed>"
        try:
            inputs = ", ".join(f"{t.name}: {t.dtype}{list(t.shape)}" for t in self.inputs)
            outputs = ", ".join(f"{t.dtype}{list(t.shape)}" for t in self.outputs)
            what = f": ({inputs}) -> ({outputs})"
        except Error as error:
            what = f", not to be run: {error}"
        return f"<nucleon.Program '{self.name}', {len(self.bytes)} bytes{what}>"

    # ---- copies ----

    def __getstate__(self) -> dict[str, Any]:
        return {"bytes": self.bytes, "name": self.name, "report": self.report, "_maps": self._maps}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    # ---- lifetime: memory goes with the last reference, or at once with close() ----

    def close(self) -> None:
        """Gives the memory of its runs back; it cannot be run any more."""
        with self._lock:
            self._closed = True
            runners = self._idle[False] + self._idle[True]
            self._idle = {False: [], True: []}
        for runner in runners:
            runner.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _take(self, int8: bool) -> Runner:
        with self._lock:
            if self._closed:
                raise BadUsage(f"{self.name}: the program is closed")
            if self._idle[int8]:
                return self._idle[int8].pop()
        return Runner(self.name, self.bytes)

    def _give_back(self, runner: Runner, int8: bool) -> None:
        runner.uses += 1
        with self._lock:
            if runner.uses < _USES and not self._closed:
                self._idle[int8].append(runner)
                return
        runner.close()

    # ---- what it is ----

    def _describe(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        if self._tensors is None:
            runner = self._take(True)  # as the program has them: others may be float for data that are
            self._tensors = runner.inputs(), runner.outputs()
            runner.session.warn()
            self._give_back(runner, True)
        return self._tensors

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Name, element type and shape of each input."""
        return self._describe()[0]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The same of each output."""
        return self._describe()[1]

    def memory_map(self, form: str = "text") -> str:
        """Where every tensor lies and when it lives: a table, or a picture with ``form="svg"``."""
        if not self._maps:
            raise BadUsage(f"{self.name}: a program that was loaded has no memory map: one that compile() returns does")
        if form not in self._maps:
            raise BadUsage(f"form '{form}' is none of {', '.join(self._maps)}")
        return self._maps[form]

    def inspect(self, disassemble: bool = False) -> dict[str, Any]:
        """What is in the file, as ``nucleon inspect --json`` prints it."""
        with Session() as s:
            return s.json_of(lib.nuc_inspect_bytes, s.handle, encode(self.name),
                             address(s.keep(self.bytes)), len(self.bytes),
                             INSPECT_FORMS.index("json"), disassemble)

    def profile(self, target: str | None = None) -> dict[str, Any]:
        """Cycles of every operator and kernel by the cycle model: ``profile`` of ``nucleon run --profile --json``."""
        with Session({"target": target}) as s:
            return s.json_of(lib.nuc_profile_json, s.handle, encode(self.name),
                             address(s.keep(self.bytes)), len(self.bytes), None)

    # ---- runs ----

    def run(self, *inputs: Any, **named: Any) -> Any:
        """The outputs for inputs: arrays in their order or by name, a mapping by name, or the path of a data set.

        An array is an input of the program's shape, or many samples along axis 0: [N] + shape, or [N * shape[0], ...];
        outputs have that axis as the inputs have it. Torch tensors give torch tensors, all else numpy arrays, or
        memoryviews where numpy is not installed. One output is returned as it is, several as ``Outputs``: a list whose
        items have names, too, those of the dictionary or the named tuple that ``forward()`` returns.

        A program with states takes the samples as the steps of a sequence, which begins with the states' initial values, or
        arrays of sequences, [sequences, steps, ...], and gives outputs of these axes.

        int8 inputs take int8 arrays, or float32 ones, which are quantized as the program says; outputs are likewise.
        """
        if len(inputs) == 1 and not named and _data.is_path(inputs[0]):
            runner = Runner(self.name, self.bytes)
            with runner.session:
                results, count = runner.run(_data.dataset(inputs[0], (), "inputs", runner.session))
            return self._wrapped([_data.wrap("numpy", t.dtype, (*count, *t.shape), elements) for t, elements in results])
        batch = self._batch(inputs, named)
        int8 = _is_int8(batch)
        runner = self._take(int8)
        try:
            made = _run_arrays(runner, batch)
        except BaseException:
            runner.close()
            raise
        self._give_back(runner, int8)
        return self._wrapped(made)

    def _batch(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> _data.Batch:
        return _data.batch_of(self._item(inputs, named), self.inputs)

    def _wrapped(self, made: list[Any]) -> Any:
        return made[0] if len(made) == 1 else Outputs(made, [t.name for t in self.outputs])

    def stream(self) -> Stream:
        """States of their own for this program, to be fed step by step; there may be any number of them."""
        return Stream(self)

    __call__ = run

    def _item(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """One batch, of however it was given."""
        if named:
            return _data.by_name(inputs, named, self.inputs)
        item = inputs[0] if len(inputs) == 1 else inputs
        given = len(item) if isinstance(item, (tuple, list)) and not _data.is_numbers(item) else 1
        if not isinstance(item, Mapping) and given != len(self.inputs):
            names = ", ".join(f"'{t.name}'" for t in self.inputs)
            raise BadUsage(f"{self.name}: run() is given {given} inputs, the program takes {len(self.inputs)}: {names}")
        return tuple(item) if given > 1 else item

    def evaluate(self, dataset: Any, labels: Any = None, **options: Any) -> dict[str, Any]:
        """``nucleon.evaluate()`` of this program."""
        return evaluate(self, dataset, labels, **options)


class Stream:
    """A sequence under way, which is fed its next step or steps by each call:

        stream = program.stream()
        for frame in frames:
            scores = stream(frame)

    It begins with the initial values of the program's states. Streams of one program do not know of each other.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._runner = Runner(program.name, program.bytes)
        self._int8: bool | None = None

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The outputs, for inputs as ``Program.run()`` takes them but for paths. Several samples are steps in their order."""
        batch = self._program._batch(inputs, named)
        if self._runner.uses >= _USES or self._int8 not in (None, _is_int8(batch)):
            self._renew()
        self._int8 = _is_int8(batch)
        self._runner.uses += 1
        return self._program._wrapped(_run_arrays(self._runner, batch, goes_on=True))

    def _renew(self) -> None:
        states = self.save()
        self._runner.close()
        self._runner = Runner(self._program.name, self._program.bytes)
        self._runner.restore(states)

    def reset(self) -> None:
        """The next step is the first one of another sequence."""
        self._runner.session.check(lib.nuc_runner_reset(self._runner.handle))

    def save(self) -> bytes:
        """The content of the states, from which this stream or another one of the program goes on after ``restore()``."""
        return self._runner.states()

    def restore(self, states: bytes) -> None:
        """The next step is the one after those that led to ``states``, which ``save()`` gave."""
        if not isinstance(states, bytes):
            raise BadUsage(f"restore() takes the bytes that save() gave, not {type(states).__name__}")
        self._runner.restore(states)


def _is_int8(batch: _data.Batch) -> bool:
    return any(a.dtype == "int8" for a in batch.arrays.values())


def _run_arrays(runner: Runner, batch: _data.Batch, goes_on: bool = False) -> list[Any]:
    arrays = batch.arrays
    try:
        results, count = runner.run(_data.dataset_of_arrays(arrays, "inputs", runner.session), goes_on)
    finally:
        runner.session.warn()
    runner.session.forget(arrays.values())
    kinds = {a.kind for a in arrays.values()}
    kind = next((k for k in ("torch", "numpy") if k in kinds), "plain")
    return [_data.wrap(kind, t.dtype, _shape(t.shape, count, batch.axis), elements) for t, elements in results]


def _shape(shape: tuple[int, ...], count: tuple[int, ...], axis: str) -> tuple[int, ...]:
    """Of an output for `count` samples, or sequences and steps, with the axis of samples as the inputs have it."""
    if axis == "apart" or len(count) > 1:
        return (*count, *shape)
    if axis == "none" and shape[:1] == (1,):
        return shape[1:]
    if count[0] == 1:
        return shape
    return (count[0] * shape[0], *shape[1:]) if shape else count
