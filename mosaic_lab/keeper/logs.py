"""Bounded logs: the beginning of a file that grows too large is dropped, while others append to it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from mosaic_lab.keeper.files import open_file, open_for_appending

LIMIT = 32 << 20
"""Bytes that a log may have; where it has more, it is cut within some seconds."""
KEPT = 8 << 20
"""Bytes at its end that stay then."""


def cut(path: Path) -> None:
    """Drop the beginning of a log that has become too large; a first line states how much.

    Whoever writes it has opened it for appending. Lines that come in the very moment may be lost with the
    others. A log that is not there, or cannot be written, stays as it is.
    """
    with suppress(OSError):
        if path.stat().st_size <= LIMIT:
            return
        with open_file(path) as file:
            size = file.seek(0, 2)
            file.seek(size - KEPT)
            end = file.read(2 * KEPT).partition(b"\n")[2]
        dropped = f"[{(size - len(end)) / 1e6:,.0f} MB of older lines were dropped here]\n"
        with open_for_appending(path) as file:
            file.truncate(0)
            file.write(dropped.encode() + end)
