"""The last lines of a log that another process is writing.

What crosses this boundary: a path in, text lines out. The cost is bounded whatever the size of the log.
"""

from __future__ import annotations

import os
from pathlib import Path

TAIL_BYTES = 64 * 1024
"""Bytes looked at, from the end of the file."""


def read_tail(path: Path | str, lines: int = 20) -> list[str]:
    """At most ``lines`` last lines of the file, oldest first; empty where there is no file.

    Only the last 64 KiB are read, undecodable bytes become replacement characters, and of a line that a
    progress bar rewrote with carriage returns only the last form is kept.
    """
    try:
        with Path(path).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = file.seek(max(0, size - TAIL_BYTES))
            data = file.read(TAIL_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = data.decode(errors="replace").split("\n")
    if start > 0 and len(found) > 1:
        del found[0]  # most likely the end of a longer line
    if found and not found[-1]:
        del found[-1]
    return [line.rstrip("\r").rpartition("\r")[2] for line in found[-lines:]] if lines > 0 else []
