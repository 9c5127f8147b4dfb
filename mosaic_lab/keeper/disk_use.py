"""The size of a folder on its disk, measured a little at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SLICE = 0.02  # seconds that one look may take; some thousand files
_BLOCK = 512  # bytes, whatever the file system's blocks are


class DiskUse:
    """A measurement that is begun and then continued by every `look` until it is complete."""

    def __init__(self) -> None:
        self._sizes: Iterator[int] | None = None
        self._total = 0

    def begin(self, folder: Path) -> None:
        """Begin a measurement, unless one is under way."""
        if self._sizes is None:
            self._sizes, self._total = _sizes(folder), 0

    def look(self, seconds: float = SLICE) -> dict[str, float]:
        """Return ``disk_mb`` when the measurement is complete now; else nothing."""
        if self._sizes is None:
            return {}
        deadline = time.monotonic() + seconds
        for size in self._sizes:
            self._total += size
            if time.monotonic() >= deadline:
                return {}
        self._sizes = None
        return {"disk_mb": self._total / (1 << 20)}


def _sizes(folder: Path) -> Iterator[int]:
    """Yield the bytes that each file below the folder takes; links are not followed."""
    waiting = [str(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):  # it has just been removed
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    yield entry.stat(follow_symlinks=False).st_blocks * _BLOCK
