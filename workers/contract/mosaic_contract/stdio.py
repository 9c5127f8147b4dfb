"""The standard streams of a process: always open, and ignoring write errors (a full disk under worker.log
must not raise inside a library's `print`)."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


class _LossyFile(io.FileIO):
    """A raw stream that drops output that cannot be written instead of raising."""

    def write(self, data: Any) -> int:
        try:
            written = super().write(data)
        except OSError:
            written = None
        return len(data) if written is None else written


def reserve_standard_streams() -> None:
    """Open the null device on each closed descriptor from 0 to 2.

    Call it before anything else is opened: otherwise a lock, a pipe or a log could get one of these numbers,
    and the next child process would replace it by a stream.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:  # set by an interpreter that was started without the stream
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def forgive_write_errors() -> None:
    """Make `sys.stdout` and `sys.stderr` line-buffered, UTF-8, and ignore their write errors."""
    sys.stdout = _stream(1)
    sys.stderr = _stream(2)


def _stream(fd: int) -> io.TextIOWrapper:
    raw = _LossyFile(fd, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
