"""What can go wrong: the library's one-line messages as exceptions, and its notes as warnings."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Any failure of the library. ``str(error)`` is one line: what is wrong, where, and what to do."""


class BadInput(Error, ValueError):
    """A model, a program or data are malformed, or do not fit each other."""


class Unsupported(Error, ValueError):
    """Well-formed, but outside of what nucleon takes; the message says what to change."""


class BadUsage(Error, ValueError):
    """Arguments name unknown things or contradict each other."""


class OutOfMemory(Error, MemoryError):
    """Memory is exhausted."""


class FileError(Error, OSError):
    """The operating system refuses to read or write."""


class PropertyMissed(Error):
    """A property that was demanded does not hold: a budget, an accuracy, full delegation.

    ``result`` is what there is nevertheless: the figures of the program that is too large, or the
    evaluation of the one that is not accurate enough; ``text`` says what takes the memory.
    """

    result: dict[str, Any] | None = None
    text: str = ""


class DeviceError(Error):
    """The driver of the (simulated) NPU reports an error."""


class InternalError(Error):
    """A defect of nucleon itself."""


class Note(UserWarning):
    """A note of the library: something is not as it may be meant. The work goes on."""
