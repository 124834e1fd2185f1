"""Notes of this package, as those of the library are given."""

from __future__ import annotations

import os
import pathlib
import sys
import warnings

from nucleon.errors import Note

_FOLDER = str(pathlib.Path(__file__).resolve().parent) + os.sep


def note(message: str) -> None:
    """A warning about the line that called this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, Note, stacklevel=level)
