"""The writing side of a ring: `FrameWriter`.

It never waits for a reader. Only creating a ring, at the start and for a frame that does not fit, may wait
half a second for a process that removes dead rings. Readers write only their leases and the switch to the
header; both are validated before use.
"""

from __future__ import annotations

import os
import secrets
import struct
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_contract.errors import FastlaneError, FrameError
from mosaic_contract.fastlane import layout, ring_files
from mosaic_contract.fastlane.frame import Hud, as_pixels
from mosaic_contract.fastlane.layout import (
    BEGIN,
    BUSY_AT,
    END,
    INTEREST_AT,
    LATEST_AT,
    SLOTS,
    MemoryFence,
    Ring,
    new_fence,
    truncated,
)
from mosaic_contract.fastlane.leases import smallest_interval

_LEASE_CHECK_NS = 100_000_000  # between checks of the leases while no frame is due
_EARLY_DIVISOR = 4  # a frame may come a quarter of the interval early: steps at the viewer's rate are inexact
_CLOSED_HEADER = memoryview(bytes(layout.HEADER_BYTES)).cast("Q")  # the header of a closed writer: no viewer
_NO_HUD = Hud()
_pack = layout.RECORD.pack_into
_writers: weakref.WeakSet[FrameWriter] = weakref.WeakSet()


class FrameWriter:
    """The publisher of the frames of one run, for one thread.

    ``run_dir`` is the run's folder, where readers look for the link to the ring. ``max_fps`` is the maximum
    rate that readers may request, in frames per second. ``share`` is the maximum fraction of the time spent
    on rendering and publishing, except for the first frame, which loads libraries and opens windows.
    ``enabled=False`` starts switched off, until a reader switches frames on; None: switched off if the
    environment variable ``MOSAIC_FRAMES`` is 0, as in scripts of a run started without frames. Raises
    ValueError for limits out of range. If no ring can be created, the writer starts in the ended state.

    ``share`` may be changed at any time. ``ended`` is the reason why no more frames will be due (None while
    some may be), ``fallback`` the reason why the ring is not in shared memory (None if it is). After a fork
    the writer belongs to the parent; in the child no frame is ever due.
    """

    _words = _CLOSED_HEADER

    def __init__(
        self, run_dir: Path | str, *, max_fps: float = 60.0, share: float = 0.04, enabled: bool | None = None
    ) -> None:
        if not 0 < max_fps <= 1e6 or not 0 < share <= 1:
            raise ValueError(f"max_fps={max_fps} must be above 0, share={share} above 0 and at most 1")
        if enabled is None:
            enabled = os.environ.get("MOSAIC_FRAMES") != "0"
        self._run_dir = Path(run_dir).absolute()
        self._min_interval = int(1e9 / max_fps)
        self.share = share
        self._fence = new_fence()
        self._full_fence = MemoryFence()
        self._id = secrets.randbits(63)
        self._number = 0  # of the newest frame
        self._shape: tuple[int, ...] = ()  # shape of the arrays that `_targets` accept without conversion
        self._targets: list[Any] = []  # one per slot: an array, or a memoryview for bytes
        self._size = (0, 0, 0)
        self._array_type: Any = None  # numpy's, once a frame was an array
        self._uint8: Any = None
        self._next_check = 0  # ns: `due` returns False before
        self._planned = 0  # when the newest due frame should have been published
        self._next_allowed = 0  # when the share of the time allows the next frame
        self._due_at = 0  # when `due` last returned True, 0 after the frame
        self.ended: str | None = None
        self.fallback: str | None = None
        ring_files.sweep()
        try:
            self._ring, self._lock, self.fallback = self._new_ring(0)
            self._words = self._ring.words
            self._words[layout.ENABLED_AT] = enabled
            ring_files.point(self._run_dir, self._ring.path)
        except FastlaneError as error:
            self.close()
            self.end(str(error))
            return
        self._log_fallback()
        _writers.add(self)

    @property
    def path(self) -> Path | None:
        """The ring's file, None without one. It changes after a frame that did not fit."""
        return None if self._words is _CLOSED_HEADER else self._ring.path

    def due(self) -> bool:
        """Return whether to render and publish a frame now. Cheap enough for every step.

        True if there is a viewer, the shortest requested interval has passed on average (limited by
        ``max_fps``), and rendering keeps within its share of the time, measured from the last True until
        `publish` returned.
        """
        if not self._words[INTEREST_AT]:
            return False
        now = time.monotonic_ns()
        if now < self._next_check:
            return False
        interval = self._requested_interval(now)
        if interval is None:
            self._next_check = now + _LEASE_CHECK_NS
            return False
        tolerance = interval // _EARLY_DIVISOR
        due_time = max(self._planned + interval - tolerance, self._next_allowed)
        if now < due_time:
            # A reader with a higher rate may appear meanwhile.
            self._next_check = min(due_time, now + _LEASE_CHECK_NS)
            return False
        # Count from the due time, so that long steps do not reduce the number of frames.
        self._planned = max(self._planned + interval, now - interval // 2)
        self._next_check = min(self._planned + interval - tolerance, now + _LEASE_CHECK_NS)
        self._due_at = now
        return True

    def _requested_interval(self, now: int) -> int | None:
        """Return the interval between frames in ns; None without a viewer or with frames switched off."""
        words = self._words
        interval = smallest_interval(words, now)
        if interval is None:
            words[INTEREST_AT] = 0
            self._full_fence()  # a lease from before the word was cleared is visible now
            interval = smallest_interval(words, now)
            if interval is not None:
                words[INTEREST_AT] = 1
        if interval is None or not words[layout.ENABLED_AT]:
            return None
        return max(interval, self._min_interval)

    def publish(self, pixels: Any, hud: Hud = _NO_HUD, shape: tuple[int, ...] | None = None) -> None:
        """Publish a frame, whether due or not.

        ``pixels``: a numpy array of shape (height, width) or (height, width, 1, 3 or 4) of uint8, bool or
        floats from 0 to 1; or any object with contiguous bytes, with its ``shape``. Raises FrameError for
        invalid frames, and FastlaneError if there is no room for a frame larger than its predecessors or the
        writer is closed.
        """
        if (
            pixels.__class__ is not self._array_type
            or pixels.shape != self._shape
            or pixels.dtype is not self._uint8
        ):
            pixels = self._prepare(pixels, shape)
        words, fence = self._words, self._fence
        number = self._number = self._number + 1  # counts failed calls too: a number is never reused
        index = 0 if words[LATEST_AT] % SLOTS else 1  # not the newest's; few slots stay in the cache
        if words[BUSY_AT + index]:
            index = self._unread_slot()
        slot = self._ring.slots[index]
        begin = slot >> 3
        words[begin + BEGIN] = number
        fence()
        try:  # first: the words it fetches into the cache arrive during the copy
            self._write_record(slot, hud)
        except (struct.error, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FrameError(f"the HUD cannot be written, {error}: {hud!r}"[:500]) from error
        self._targets[index][:] = pixels
        fence()
        words[begin + END] = number
        words[LATEST_AT] = number * SLOTS + index
        if self._due_at:
            if number > 1:
                self._next_allowed = self._due_at + int((time.monotonic_ns() - self._due_at) / self.share)
            self._due_at = 0

    def _unread_slot(self) -> int:
        """Return a slot that no reader is copying, if any, but never the slot of the newest frame."""
        words = self._words
        candidates = [index for index in range(SLOTS) if index != words[LATEST_AT] % SLOTS]
        for index in candidates:
            if not words[BUSY_AT + index]:
                return index
        for index in candidates:  # many readers, or marks left by killed readers
            words[BUSY_AT + index] = 0
        return candidates[0]

    def _write_record(self, slot: int, hud: Hud) -> None:
        episode, step, reward, episode_return, speed, agent, text = hud
        present = (
            (episode is not None)
            | (step is not None) << 1
            | (reward is not None) << 2
            | (episode_return is not None) << 3
            | (speed is not None) << 4
        )
        height, width, channels = self._size
        agent_data = truncated(agent, layout.AGENT_LIMIT) if agent else b""
        data = agent_data + truncated(text, layout.TEXT_LIMIT) if text else agent_data
        _pack(
            *(self._ring.memory, slot + layout.RECORD_AT, time.time(), height, width, channels, present),
            *(episode or 0, step or 0, reward or 0.0, episode_return or 0.0, speed or 0.0),
            *(len(agent_data), len(data) - len(agent_data)),
        )
        if data:
            start = slot + layout.TEXTS_AT
            self._ring.memory[start : start + len(data)] = data

    def _prepare(self, pixels: Any, shape: tuple[int, ...] | None) -> Any:
        """Return the frame in a form that the targets accept; move to a larger ring if it does not fit."""
        if self._words is _CLOSED_HEADER:
            reason = self.ended or "this writer is closed, or belongs to the process that forked this one"
            raise FastlaneError(reason)
        pixels, size = as_pixels(pixels, shape)
        array = not isinstance(pixels, memoryview)
        if pixels.shape != self._shape or array is (self._array_type is None) or not self._targets:
            count = size[0] * size[1] * size[2]
            if count > self._ring.capacity:
                self._move(count)
            memory, starts = self._ring.memory, [slot + layout.PIXELS_AT for slot in self._ring.slots]
            if array:
                numpy: Any = sys.modules["numpy"]
                self._array_type, self._uint8 = numpy.ndarray, numpy.dtype(numpy.uint8)
                flat = [numpy.frombuffer(memory, numpy.uint8, count, start) for start in starts]
                self._targets = [target.reshape(pixels.shape) for target in flat]
            else:
                self._array_type = None
                self._targets = [memoryview(memory)[start : start + count] for start in starts]
            self._shape = pixels.shape
        self._size = size
        return pixels

    def _new_ring(self, slot: int) -> tuple[Ring, int, str | None]:
        ring, lock, fallback = ring_files.create(self._run_dir.name, layout.file_bytes(slot))
        ring.words[layout.SLOT_BYTES_AT] = slot
        ring.words[layout.WRITER_AT] = self._id
        ring.words[layout.MAGIC_AT] = layout.MAGIC
        ring.locate_slots()
        return ring, lock, fallback

    def _move(self, frame_bytes: int) -> None:
        """Move to a larger ring. Readers follow the link; their words in the header are copied."""
        ring, lock, fallback = self._new_ring(layout.slot_bytes(frame_bytes))
        old, old_lock = self._ring, self._lock
        old.words[layout.STATUS_AT] = layout.MOVED
        ring.memory[layout.READERS_BYTES] = old.memory[layout.READERS_BYTES]
        enabled = ring.words[layout.ENABLED_AT]
        try:
            ring_files.point(self._run_dir, ring.path)
        except FastlaneError:
            old.words[layout.STATUS_AT] = layout.OPEN
            ring_files.remove(ring.path, lock)
            raise
        self._full_fence()  # a reader that sets the old switch after this sees that the ring has moved
        if old.words[layout.ENABLED_AT] != enabled:  # switched since the copy
            ring.words[layout.ENABLED_AT] = old.words[layout.ENABLED_AT]
        self._ring, self._lock, self._words = ring, lock, ring.words
        ring_files.remove(old.path, old_lock)
        if fallback != self.fallback:
            self.fallback = fallback
            self._log_fallback()

    def _log_fallback(self) -> None:
        if self.fallback is not None:
            self.notice(
                f"frames are stored in {self._ring.path.parent}, not in shared memory ({self.fallback})"
            )

    def notice(self, text: str) -> None:
        """Show viewers a message, such as the reason for missing frames, until the next message. Truncated to
        2048 bytes of UTF-8; "" removes the last message."""
        data, words = truncated(text, layout.NOTICE_LIMIT), self._words
        if words is _CLOSED_HEADER:
            return
        number = words[layout.NOTICE_BEGIN_AT] + 1
        words[layout.NOTICE_BEGIN_AT] = number
        self._fence()
        words[layout.NOTICE_LENGTH_AT] = len(data)
        self._ring.memory[layout.NOTICE_BYTES_AT : layout.NOTICE_BYTES_AT + len(data)] = data
        self._fence()
        words[layout.NOTICE_END_AT] = number

    def end(self, reason: str) -> None:
        """End the frames for a reason, which is shown to viewers and on stderr. No frame is due afterwards.

        Call it for any error with a frame, so that a training does not fail because of it. The first reason
        is kept.
        """
        if self.ended is None:
            self.ended = reason
            self._next_check = sys.maxsize
            print(f"no frames: {reason}", file=sys.stderr)
            self.notice(reason)
            if self._words is not _CLOSED_HEADER:
                self._words[layout.STATUS_AT] = layout.ENDED

    def close(self) -> None:
        """Mark the ring as closed for readers, and remove it and the link. May be called at any time."""
        if self._words is _CLOSED_HEADER:
            return
        self._words[layout.STATUS_AT] = layout.CLOSED
        if ring_files.target(self._run_dir) == self._ring.path:
            with suppress(OSError):
                (self._run_dir / ring_files.LINK).unlink()
        ring_files.remove(self._ring.path, self._lock)
        self._detach()

    __del__ = close

    def _detach(self) -> None:
        self._words = _CLOSED_HEADER
        self._targets, self._array_type = [], None


def _abandon_all() -> None:
    """Release all rings and their locks in a forked child: they belong to the parent."""
    for writer in list(_writers):
        if writer._words is not _CLOSED_HEADER:
            os.close(writer._lock)
            writer._detach()


os.register_at_fork(after_in_child=_abandon_all)
