"""The newest frame of each run seen by this process.

Walls, snapshots and saved pictures of a run share it, so they are consistent.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame

KEPT_BYTES = 64 << 20
"""Maximum total bytes over all runs; beyond it, the frames of the least recently updated runs are dropped."""


class _Memory:
    def __init__(self) -> None:
        self._frames: OrderedDict[Path, Frame] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def keep(self, folder: Path, frame: Frame) -> None:
        """Store a frame of the run in ``folder`` unless a newer one is known."""
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
        """Drop the newest frame of a run without viewers."""
        with self._lock:
            frame = self._frames.pop(folder, None)
            self._bytes -= len(frame.pixels) if frame else 0

    def newest(self, folder: Path) -> Frame | None:
        """Return the newest frame seen; None if there is none or it was dropped."""
        with self._lock:
            return self._frames.get(folder)


_memory = _Memory()
keep, forget, newest = _memory.keep, _memory.forget, _memory.newest
