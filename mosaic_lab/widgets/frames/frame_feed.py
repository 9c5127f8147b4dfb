"""One run's frames for all views in this process: read once, encoded once, recorded once.

Only the stream's thread uses a feed. Its recorder, its newest frame and the writer's notice may be read from
any thread.
"""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_lab.fastlane import Encoding, FrameSource, Packet, Recorder
from mosaic_lab.fastlane.encoding import SMALL_BYTES, Content, encode

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame

JUDGE_SECONDS = 1.0
SHORTEST_POLL, LONGEST_POLL, ENDED_POLL = 0.002, 0.1, 1.0
"""Limits on the seconds between two polls for a new frame, which are a tenth of the time since the last one.
"""
RECORD_SECONDS = 1 / 15
"""Interval between two frames that are encoded only for the recording."""


class FrameFeed:
    """The frames of the run in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recorder = Recorder()
        self.frame: Frame | None = None
        self.number = 0
        """The number of frames seen so far."""
        self.poll_at = 0.0
        self._watching = False
        self._news_at = 0.0
        self._judged_at = 0.0
        self._recorded_at = 0.0
        self._content: Content | None = None
        self._packets: dict[Encoding, Packet] = {}

    @cached_property
    def source(self) -> FrameSource:
        """The source, created at first use on the stream's thread because it reads files."""
        return FrameSource(self.folder)

    @property
    def said(self) -> str:
        """The writer's notice about its frames; may be read from any thread."""
        source: FrameSource | None = vars(self).get("source")
        return source.said if source else ""

    def poll(self, now: float, fps: float) -> None:
        """Look for a new frame, and request ``fps`` frames per second from the writer."""
        self.poll_at = now + ENDED_POLL  # unless this succeeds
        source = self.source
        self._watching = True
        frame = source.poll(fps)
        if frame is None and source.finished and source.last is not self.frame:
            frame = source.last  # read by another reader
        if frame is not None:
            self.frame, self._news_at = frame, now
            self.number += 1
            self._packets = {}
        longest = ENDED_POLL if source.finished else LONGEST_POLL
        self.poll_at = _together(now, min(longest, max(SHORTEST_POLL, 0.1 * (now - self._news_at))))

    def rest(self) -> None:
        """Stop requesting frames: no view shows the run."""
        if self._watching:
            self._watching = False
            self.poll_at = self._news_at = 0.0
            self.source.rest()

    def packet(self, now: float, low_bandwidth: bool) -> Packet:
        """Return the newest frame, reduced for a page with low bandwidth. Requires at least one frame."""
        frame = self.frame
        assert frame is not None
        content = self._content
        if content is None or content.shape != frame.shape or now - self._judged_at >= JUDGE_SECONDS:
            content = self._content = Content(frame)
            self._judged_at = now
        first = not self._packets
        packet = self._encoded(content.encoding(low_bandwidth))
        if first:
            self._record(now, packet)
        return packet

    def close(self) -> None:
        if "source" in vars(self):  # if it was created
            self.source.close()

    def _encoded(self, encoding: Encoding) -> Packet:
        packet = self._packets.get(encoding)
        if packet is None:
            assert self.frame is not None
            packet = self._packets[encoding] = encode(self.frame, encoding)
        return packet

    def _record(self, now: float, packet: Packet) -> None:
        if packet.encoding == "raw" and len(packet.data) > SMALL_BYTES:
            if now - self._recorded_at < RECORD_SECONDS:
                return
            self._recorded_at = now
            packet = self._encoded("jpeg")
        self.recorder.add(packet)


def _together(now: float, wait: float) -> float:
    """Return a time about ``wait`` seconds from now, rounded so that one wake-up of the thread serves many
    runs."""
    step = 2.0 ** math.floor(math.log2(wait))
    return step * round(now / step + wait / step)
