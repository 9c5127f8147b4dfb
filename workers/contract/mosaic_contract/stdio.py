"""Prints that cannot fail: a full disk under worker.log must not raise inside a library's `print`."""

from __future__ import annotations

import io
import sys
from typing import Any


class _Forgiving(io.FileIO):
    """A raw stream that loses what cannot be written instead of raising."""

    def write(self, data: Any) -> int:
        try:
            written = super().write(data)
        except OSError:
            written = None
        return len(data) if written is None else written


def forgive_write_errors() -> None:
    """Make `sys.stdout` and `sys.stderr` line-buffered, UTF-8, and silent about write errors."""
    sys.stdout = _stream(1)
    sys.stderr = _stream(2)


def _stream(fd: int) -> io.TextIOWrapper:
    raw = _Forgiving(fd, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
