"""Files: read, and written whole: under another name in their folder, then renamed."""

from __future__ import annotations

import os
import pathlib
import secrets

from .errors import BadUsage, FileError


def path_of(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise BadUsage(f"{type(path).__name__} is no path: give a str or a pathlib.Path")
    return os.fspath(path)


def read(path: str | os.PathLike[str]) -> bytes:
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"{os.fspath(path)}: cannot be opened: {error.strerror}") from None


def check_writable(path: str | os.PathLike[str]) -> None:
    """Before the work whose result goes there."""
    to = pathlib.Path(path_of(path))
    if to.is_dir() or not os.access(to.parent, os.W_OK):
        raise FileError(f"{to}: cannot be written: {'it is a folder' if to.is_dir() else no_folder(to.parent)}")


def no_folder(folder: pathlib.Path) -> str:
    return f"{folder} is not writable" if folder.is_dir() else f"there is no folder {folder}"


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    to = pathlib.Path(path_of(path))
    try:
        if to.exists() and not to.is_file() and not to.is_dir():  # a device or a pipe
            to.write_bytes(data)
            return
        check_writable(to)
        _write_and_rename(to, data)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{to}: cannot be written: {error.strerror}") from None


def _write_and_rename(to: pathlib.Path, data: bytes) -> None:
    name = to.parent / f".nucleon-{secrets.token_hex(8)}"
    try:
        with open(name, "xb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.replace(name, to)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
