"""Opening the files of a run folder: a named pipe, device or folder in their place is an error."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from mosaic_lab.errors import NotAFile

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_file(path: Path, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading. Raises NotAFile for anything else, and OSError as `open` does."""
    return _open(path, os.O_RDONLY, "rb", buffering)


def open_for_appending(path: Path) -> BinaryIO:
    """Open a regular file, made when missing, for appending. Raises OSError as `open_file` does."""
    return _open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, "ab")


def kind_of(path: Path) -> str | None:
    """What is in a file's place, such as "a folder"; None for a regular file and for nothing at all."""
    try:
        return _kind(path.stat().st_mode)
    except OSError:
        return None


def _open(path: Path, flags: int, mode: str, buffering: int = -1) -> BinaryIO:
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        if (kind := _kind(os.fstat(descriptor).st_mode)) is not None:
            raise NotAFile(f"{path} is {kind}, not a file")
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, mode, buffering)  # type: ignore[return-value]
    except BaseException:
        os.close(descriptor)
        raise


def _kind(mode: int) -> str | None:
    if stat.S_ISREG(mode):
        return None
    return next((name for matches, name in _KINDS if matches(mode)), "something else")
