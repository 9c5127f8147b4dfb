"""The last seconds of one run's frames in memory, as they were sent to a page, for a recording of them."""

from __future__ import annotations

import threading
from collections import deque

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.fastlane.encoding import Packet

RECORDED_SECONDS = 60.0
RECORDED_BYTES = 64 << 20
_OVERHEAD = 512
"""Bytes that a packet takes beside its data."""


def check_seconds(seconds: object) -> None:
    """Raise ConfigurationError for what is not the length of a recording."""
    if not isinstance(seconds, int | float) or not 0 < seconds <= RECORDED_SECONDS:
        raise ConfigurationError(
            f"a recording has more than 0 and up to {RECORDED_SECONDS:g} s, a number, not {seconds!r}"
        )


class Recorder:
    """Keeps at most ``seconds`` and ``limit_bytes``; what is older gives way. Safe to use from any thread."""

    def __init__(self, seconds: float = RECORDED_SECONDS, limit_bytes: int = RECORDED_BYTES) -> None:
        self.seconds = seconds
        self.limit_bytes = limit_bytes
        self._packets: deque[Packet] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, packet: Packet) -> None:
        """Keep a packet. One that is larger than the whole limit is not kept, nor is anything before it."""
        with self._lock:
            self._packets.append(packet)
            self._bytes += len(packet.data) + _OVERHEAD
            while self._packets and (
                self._bytes > self.limit_bytes or not _within(self._packets[0], self.seconds, packet)
            ):
                self._bytes -= len(self._packets.popleft().data) + _OVERHEAD

    def last(self, seconds: float) -> list[Packet]:
        """Return the packets of the ``seconds`` before the newest one, oldest first; empty at first."""
        with self._lock:
            packets = list(self._packets)
        return [packet for packet in packets if _within(packet, seconds, packets[-1])]


def _within(packet: Packet, seconds: float, newest: Packet) -> bool:
    """Whether it is of these last seconds. What seems to be of the future is older than a clock set back."""
    return newest.published - seconds <= packet.published <= newest.published
