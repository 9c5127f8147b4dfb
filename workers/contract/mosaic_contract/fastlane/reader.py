"""The reading side of a ring: `FrameReader`. Readers are independent: any number may start, stop and crash.
Everything in a ring is validated before use, so a file that only looks like a ring yields no frames."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, Literal

from mosaic_contract.fastlane import layout, ring_files
from mosaic_contract.fastlane.frame import CHANNELS, Frame, Hud
from mosaic_contract.fastlane.layout import (
    BEGIN,
    END,
    LATEST_AT,
    RECORD_AT,
    SLOTS,
    STATUS_AT,
    MemoryFence,
    Ring,
    new_fence,
)
from mosaic_contract.fastlane.leases import Lease

_LINK_CHECK_SECONDS = 0.25  # between checks of the link for a new ring
_MAX_TRIES = 16  # if a writer overtakes a reader this often in a row, the read returns no frame


class FrameReader:
    """A reader of the frames of the run in ``run_dir``, for one thread.

    The ring need not exist yet: it is found once it exists, and again after the writer has moved to a larger
    ring or restarted. No method raises because of the contents of the run folder. Call `close` when the run
    has ended: until then the last ring occupies memory.
    """

    def __init__(self, run_dir: Path | str) -> None:
        self._run_dir = Path(run_dir).absolute()
        self._fence = new_fence()
        self._full_fence = MemoryFence()
        self._lease = Lease()
        self._ring: Ring | None = None
        self._check_link_at = 0.0
        self._writer = 0  # id of the newest ring's writer
        self._newest = 0  # number of the newest frame returned, counted by its writer
        self._base = 0  # sum of the numbers of earlier writers' frames

    def read(self) -> Frame | None:
        """Return the newest whole frame if it was not returned before, else None. Never an older frame."""
        ring = self._follow()
        if ring is None:
            return None
        for _ in range(_MAX_TRIES):
            number, slot = divmod(ring.words[LATEST_AT], SLOTS)
            if number <= self._newest:
                return None
            ring.words[layout.BUSY_AT + slot] = 1  # only a hint: `_copy` validates the slot
            frame = self._copy(ring, number, ring.slots[slot])
            ring.words[layout.BUSY_AT + slot] = 0
            if frame is not None:
                self._newest = number
                return frame
        return None

    def _copy(self, ring: Ring, number: int, slot: int) -> Frame | None:
        """Return a copy of a frame, None if the writer changed its slot meanwhile (`layout` explains
        why every change is detected)."""
        if not ring.capacity:
            return None
        words, memory = ring.words, ring.memory
        if words[(slot >> 3) + END] != number or words[(slot >> 3) + BEGIN] != number:
            return None
        self._fence()
        published, height, width, channels, *numbers = layout.RECORD.unpack_from(memory, slot + RECORD_AT)
        texts = memory[slot + layout.TEXTS_AT : slot + layout.PIXELS_AT]
        size = height * width * channels
        if not 0 < size <= ring.capacity or channels not in CHANNELS or not math.isfinite(published):
            return None
        start = slot + layout.PIXELS_AT
        pixels = memory[start : start + size]
        self._fence()
        if words[(slot >> 3) + BEGIN] != number:
            return None
        return Frame(self._base + number, published, height, width, channels, pixels, _hud(texts, *numbers))

    def watch(self, fps: float) -> None:
        """Request ``fps`` frames per second (above 0) for the next 2 s. Cheap enough for every poll."""
        if not fps > 0:
            raise ValueError(f"fps={fps} must be above 0")
        ring = self._follow()
        if ring is not None:
            self._lease.renew(ring, fps)

    def unwatch(self) -> None:
        """Withdraw the request for frames."""
        self._lease.end()

    def enable(self, on: bool = True) -> None:
        """Switch the run's frames on or off, for all viewers. Does nothing without a ring."""
        ring, previous = self._follow(), None
        while ring is not None and ring is not previous:
            ring.words[layout.ENABLED_AT] = on
            self._full_fence()  # a moving ring is marked by now, or copies the word
            ring, previous = self._follow(), ring

    @property
    def state(self) -> Literal["absent", "open", "ended", "closed"]:
        """Whether a ring was found, and whether its writer is alive and can publish frames. "ended": it no
        longer can; `notice` gives the reason. Makes a system call, so do not call it at every poll."""
        ring = self._follow()
        if ring is None:
            return "absent"
        if ring.words[STATUS_AT] == layout.CLOSED or not ring_files.has_writer(ring.path):
            return "closed"
        return "ended" if ring.words[STATUS_AT] == layout.ENDED else "open"

    @property
    def enabled(self) -> bool:
        """False if the ring reports that frames are switched off."""
        ring = self._follow()
        return ring is None or bool(ring.words[layout.ENABLED_AT])

    @property
    def notice(self) -> str:
        """The writer's message to viewers, such as the reason for missing frames; "" for none."""
        ring = self._follow()
        if ring is None:
            return ""
        words, start = ring.words, layout.NOTICE_BYTES_AT
        for _ in range(_MAX_TRIES):
            number = words[layout.NOTICE_END_AT]
            self._fence()
            length = min(words[layout.NOTICE_LENGTH_AT], layout.NOTICE_LIMIT)
            text = ring.memory[start : start + length]
            self._fence()
            if words[layout.NOTICE_BEGIN_AT] == number:
                return text.decode("utf-8", "replace")
        return ""

    def close(self) -> None:
        """Release the lease and the memory. A later call looks for the ring again."""
        self._lease.end()
        self._ring = None
        self._check_link_at = 0.0

    def _follow(self) -> Ring | None:
        """Return the ring that the link points to; the last one if the link is dangling."""
        ring, now = self._ring, time.monotonic()
        if ring is not None and now < self._check_link_at and ring.words[STATUS_AT] == layout.OPEN:
            return ring
        self._check_link_at = now + _LINK_CHECK_SECONDS
        path = ring_files.target(self._run_dir)
        if path is None or (ring is not None and path == ring.path):
            return ring
        newer = Ring.open(path) if path.parent.name == ring_files.folders()[0].name else None
        if newer is None:
            return ring
        if newer.writer != self._writer:
            self._base, self._newest, self._writer = self._base + self._newest, 0, newer.writer
        self._ring = newer
        return newer


def _hud(texts: bytes, present: int, *record: Any) -> Hud:
    *numbers, agent_bytes, text_bytes = record
    values = [number if present >> bit & 1 else None for bit, number in enumerate(numbers)]
    agent, text = texts[:agent_bytes], texts[agent_bytes : agent_bytes + text_bytes]
    return Hud._make((*values, agent.decode("utf-8", "replace"), text.decode("utf-8", "replace")))
