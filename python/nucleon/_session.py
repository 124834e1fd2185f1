"""One compiler object of the library: its options, errors, notes and progress, and what it borrows."""

from __future__ import annotations

import ctypes
import json
import math
import operator
import os
import pathlib
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

from . import errors
from ._library import OPTION_KINDS, STATUS, OptionInfo, ProgressFunction, WarnFunction, lib, text

Progress = Callable[[str, int, int], object]

_CLASSES: dict[str, type[errors.Error]] = {
    "bad_input": errors.BadInput,
    "unsupported": errors.Unsupported,
    "bad_usage": errors.BadUsage,
    "no_memory": errors.OutOfMemory,
    "io": errors.FileError,
    "property": errors.PropertyMissed,
    "device": errors.DeviceError,
}

_FOLDER = str(pathlib.Path(__file__).resolve().parent) + os.sep


def encode(value: str | os.PathLike[str]) -> bytes:
    """A path or any other text as the library takes it."""
    data = os.fsencode(value)
    if b"\0" in data:
        raise errors.BadUsage(f"{value!r}: a NUL character is in no name")
    return data


def address(data: bytes) -> ctypes.c_void_p:
    """Of elements that somebody keeps."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)


def whole(name: str, value: Any, least: int = 0, most: int = 2**31 - 1) -> int:
    """An argument that is a whole number."""
    try:
        number = operator.index(value)
    except TypeError:
        raise errors.BadUsage(f"{name} is {value!r}: it takes a whole number") from None
    if not least <= number <= most:
        raise errors.BadUsage(f"{name} is {number}: it takes a number from {least} to {most}")
    return number


def real(name: str, value: Any) -> float:
    """An argument that is a number."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__") or not math.isfinite(value):
        raise errors.BadUsage(f"{name} is {value!r}: it takes a finite number")
    return float(value)


def option_text(name: str, value: Any) -> str:
    """The value as the command line has it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return json.dumps(value)
    if isinstance(value, Iterable):
        parts = [option_text(name, v) for v in value]
        for part in parts:
            if "," in part:
                raise errors.BadUsage(f"{name}: '{part}' holds a comma, which separates the values of a list")
        return ",".join(parts)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def _kinds() -> dict[str, tuple[str, list[str]]]:
    """Kind and choices of the options as the command line names them; what it reads itself are parameters here."""
    own = ("calibration", "dataset", "reference", "task", "class-axis", "ignore-label", "disagreements", "shard",
           "min-accuracy", "min-agreement", "min-sqnr", "cycle-budget")
    kinds: dict[str, tuple[str, list[str]]] = {name: ("string", []) for name in own}
    info, index = OptionInfo(), 0
    while lib.nuc_option_at(index, ctypes.byref(info)):
        choices: list[str] = []
        while info.choices and info.choices[len(choices)] is not None:
            choices.append(text(info.choices[len(choices)]))
        kinds[text(info.name)] = (OPTION_KINDS[info.kind], choices)
        index += 1
    return kinds


# An option and what may be its value. A command in quotes is one of the shell.
_OPTION = re.compile(r"('nucleon [^']*')|(?<![\w-])--([a-z][a-z0-9-]*)(?:([ =])([\w.*|/-]+(?:=\w+(?:,[\w.]+=\w+)*)?))?")


def spoken(message: str, kinds: dict[str, tuple[str, list[str]]] = {}) -> str:
    """The library's message with options as they are written in Python: "--cpu int8" is cpu="int8"."""
    if not kinds:
        kinds.update(_kinds())

    def argument(match: re.Match[str]) -> str:
        command, name, between, value = match.groups()
        if command is not None or name not in kinds:
            return match[0]
        kind, choices = kinds[name]
        rest = "" if value is None else between + value
        python = name.replace("-", "_")
        if kind == "flag":
            return f"{python}=False{rest[4:]}" if rest == " off" else f"{python}=True{rest}"
        if value is None or not (value in choices if choices else value.isupper() or re.search(r"\d", value)):
            return python + rest
        is_number = re.fullmatch(r"-?\d+(\.\d+)?", value)
        return f"{python}={value}" if value.isupper() or is_number else f'{python}="{value}"'

    def name(match: re.Match[str]) -> str:
        return match[0].replace("-", "_") if match[1] in kinds else match[0]

    return re.sub(r"did you mean '([a-z-]+)'", name, _OPTION.sub(argument, message))


def bar(what: str, done: int, total: int) -> None:
    """What ``progress=True`` shows on standard error."""
    parts = f" {done}/{total}" if total else f" {done}" if done else ""
    sys.stderr.write(f"\r\x1b[K{what}{parts}")
    sys.stderr.flush()


class Session:
    """A compiler, to be used in a ``with`` statement: leaving it frees everything that the library made."""

    def __init__(self, options: Mapping[str, Any] | None = None, progress: Progress | bool | None = None) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._handle: int | None = None
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            raise errors.BadUsage("progress is a function that is told what, done and total, or True")
        self._handle = lib.nuc_compiler_new(None, None)
        if self._handle is None:
            raise errors.OutOfMemory("out of memory")
        self._kept: list[Any] = []  # what the library borrows until the compiler is freed
        self._notes: list[str] = []
        self._error: BaseException | None = None  # of the caller's progress function
        self._progress: Progress | None = bar if progress is True else progress or None
        self._shown = progress is True
        # They may not hold the session, which would then not be freed when the last reference to it goes.
        notes = self._notes
        self._warn_function = WarnFunction(lambda user, message: notes.append(text(message)))
        self._progress_function = ProgressFunction(self._tell) if self._progress else ProgressFunction()
        lib.nuc_listen(self._handle, self._warn_function, self._progress_function, None)
        try:
            for name, value in (options or {}).items():
                if value is not None:
                    self.call(lib.nuc_option_set, encode(name), encode(option_text(name, value)))
        except BaseException:
            self.close()
            raise

    # ---- lifetime ----

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
        self.close()
        if error is None or isinstance(error, errors.Error):
            self.warn()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Frees the compiler; a call that is under way in another thread frees it when it ends."""
        with self._lock:
            handle = self._handle if self._running == 0 else None
            if self._running == 0:
                self._handle = None
            else:
                self._running = -1
        if handle is not None:
            lib.nuc_compiler_free(handle)
            self._kept.clear()

    def keep(self, thing: Any) -> Any:
        self._kept.append(thing)
        return thing

    def forget(self, things: Iterable[Any]) -> None:
        """What the library does not read any more."""
        gone = {id(thing) for thing in things}
        self._kept[:] = [kept for kept in self._kept if id(kept) not in gone]

    # ---- calls ----

    @property
    def handle(self) -> int:
        assert self._handle is not None
        return self._handle

    def check(self, status: int) -> None:
        """Raises what a call that failed says."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if status == 0:
            return
        name = STATUS[status] if status < len(STATUS) else ""
        message = spoken(text(lib.nuc_compiler_message(self.handle))) or text(lib.nuc_status_name(status))
        raise _CLASSES.get(name, errors.InternalError)(message)

    def call(self, function: Any, *arguments: Any) -> None:
        """A short call of the library that takes the compiler first."""
        self.check(function(self.handle, *arguments))

    def text_of(self, function: Any, *arguments: Any) -> str:
        """The text that a call gives by its last argument."""
        out = ctypes.c_char_p()
        self.check(function(*arguments, ctypes.byref(out)))
        return text(out.value)

    def json_of(self, function: Any, *arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = parse(self.text_of(function, *arguments))
        return result

    def run(self, function: Any, *arguments: Any) -> None:
        """A call that may take long: Ctrl-C ends it.

        Python runs signal handlers in the main thread between its own instructions, so there the call is made by
        another thread. The compiler of a call that is interrupted is freed when the call has ended.
        """
        if threading.current_thread() is not threading.main_thread():
            self.check(function(*arguments))
            return
        done = threading.Event()
        status: list[int] = []

        def work() -> None:
            try:
                status.append(function(*arguments))
            finally:
                with self._lock:
                    left, self._running = self._running < 0, 0
                done.set()
                if left:
                    self.close()

        with self._lock:
            self._running = 1
        try:
            threading.Thread(target=work, name="nucleon", daemon=True).start()
        except BaseException:
            self._running = 0
            raise
        try:
            done.wait()
        except BaseException:
            for _ in range(100):  # the call ends at its next step; what takes longer goes on alone
                lib.nuc_interrupt(self.handle)  # again: the first one may come before the call has begun
                if done.wait(0.05):
                    break
            raise
        self.check(status[0])

    # ---- what the library says meanwhile ----

    def _tell(self, user: int | None, what: bytes, done: int, total: int) -> None:
        self.tell(text(what), done, total)

    def tell(self, what: str, done: int, total: int) -> None:
        """Progress, also of what Python does. What the caller's function raises ends the call."""
        if self._progress is None or self._error is not None:
            return
        try:
            self._progress(what, done, total)
        except BaseException as error:  # raised again by check(), in the thread that called
            self._error = error
            lib.nuc_interrupt(self.handle)

    def forget_notes(self) -> None:
        self._notes.clear()

    def warn(self) -> None:
        """The notes so far, as warnings about the line that called this package."""
        frame, level = sys._getframe(1), 2
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
            frame, level = frame.f_back, level + 1
        notes, self._notes[:] = list(self._notes), []
        for note in notes:
            warnings.warn(spoken(note), errors.Note, stacklevel=level)


# Members of the library's JSON that hold real numbers: texts stand for those that JSON does not have.
_REALS = {"min", "max", "mse", "mae", "max_error", "values"}
_NOT_FINITE = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}


def _reals(members: dict[str, Any]) -> dict[str, Any]:
    for key, value in members.items():
        if not (key.endswith("_db") or key in _REALS):
            continue
        if isinstance(value, list):
            members[key] = [_NOT_FINITE.get(v, v) if isinstance(v, str) else v for v in value]
        elif isinstance(value, str):
            members[key] = _NOT_FINITE.get(value, value)
    return members


def unparse(value: Any) -> str:
    """The JSON that parse() was given."""
    def finite(v: Any) -> Any:
        if isinstance(v, dict):
            return {key: finite(member) for key, member in v.items()}
        if isinstance(v, list):
            return [finite(item) for item in v]
        if isinstance(v, float) and not math.isfinite(v):
            return "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"
        return v

    return json.dumps(finite(value))


def parse(data: str) -> Any:
    """JSON of the library; numbers that are not finite are floats."""
    return json.loads(data, object_hook=_reals)
