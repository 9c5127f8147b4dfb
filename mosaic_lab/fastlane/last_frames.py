"""The newest frame of each run that this process has seen, whoever looked.

What crosses this boundary: run folders and frames. A wall, a snapshot and a saved picture of one run agree,
because all of them end with the same frame.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame

KEPT_BYTES = 64 << 20
"""Of all runs together; beyond it those are forgotten of which no frame has come for longest."""


class _Memory:
    def __init__(self) -> None:
        self._frames: OrderedDict[Path, Frame] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def keep(self, folder: Path, frame: Frame) -> None:
        with self._lock:
            before = self._frames.get(folder)
            if before is not None and before.published > frame.published:
                return
            self._bytes += len(frame.pixels) - (len(before.pixels) if before else 0)
            self._frames[folder] = frame
            self._frames.move_to_end(folder)
            while self._bytes > KEPT_BYTES and len(self._frames) > 1:
                self._bytes -= len(self._frames.popitem(last=False)[1].pixels)

    def forget(self, folder: Path) -> None:
        with self._lock:
            frame = self._frames.pop(folder, None)
            self._bytes -= len(frame.pixels) if frame else 0

    def newest(self, folder: Path) -> Frame | None:
        with self._lock:
            return self._frames.get(folder)


_memory = _Memory()


def keep(folder: Path, frame: Frame) -> None:
    """Remember that this frame of the run in ``folder`` was seen."""
    _memory.keep(folder, frame)


def forget(folder: Path) -> None:
    """Let go of the newest frame of a run that nobody will look at again."""
    _memory.forget(folder)


def newest(folder: Path) -> Frame | None:
    """The newest frame that was seen; None where there was none, or it is forgotten."""
    return _memory.newest(folder)
