"""The last seconds of one run's frames in memory, as sent to a page, for recordings."""

from __future__ import annotations

import threading
from collections import deque

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.fastlane.encoding import Packet

RECORDED_SECONDS = 60.0
RECORDED_BYTES = 64 << 20
_OVERHEAD = 512
"""Bytes that a packet takes in addition to its data."""


def check_seconds(seconds: object) -> None:
    """Raise ConfigurationError if ``seconds`` is not a valid length of a recording."""
    if not isinstance(seconds, int | float) or not 0 < seconds <= RECORDED_SECONDS:
        raise ConfigurationError(f"seconds={seconds!r}: must be a number > 0 and ≤ {RECORDED_SECONDS:g}")


class Recorder:
    """Keeps packets of at most ``seconds`` and ``limit_bytes``, dropping the oldest. Thread-safe."""

    def __init__(self, seconds: float = RECORDED_SECONDS, limit_bytes: int = RECORDED_BYTES) -> None:
        self.seconds = seconds
        self.limit_bytes = limit_bytes
        self._packets: deque[Packet] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, packet: Packet) -> None:
        """Store a packet. A packet larger than the limit is dropped with all packets before it."""
        with self._lock:
            self._packets.append(packet)
            self._bytes += len(packet.data) + _OVERHEAD
            while self._packets and (
                self._bytes > self.limit_bytes or not _within(self._packets[0], self.seconds, packet)
            ):
                self._bytes -= len(self._packets.popleft().data) + _OVERHEAD

    def last(self, seconds: float) -> list[Packet]:
        """Return the packets of the ``seconds`` before the newest one, oldest first; empty if there are
        none."""
        with self._lock:
            packets = list(self._packets)
        return [packet for packet in packets if _within(packet, seconds, packets[-1])]


def _within(packet: Packet, seconds: float, newest: Packet) -> bool:
    """Return whether a packet is within the last seconds. Later timestamps predate a clock that was set
    back."""
    return newest.published - seconds <= packet.published <= newest.published
