"""Leases, which show a writer that a reader is watching and at which rate it requests frames.

A lease consists of a token, an expiry time and an interval. A reader renews its lease several times before it
expires; the lease of a crashed reader lapses. Nothing is locked. If two readers take the same free entry of
the table at the same moment, the last write wins; the other reader notices at its next call that the token is
not its own, and takes another entry. Until then the writer may combine the interval of one with the expiry of
the other, which is harmless. If all entries are taken, a reader receives the frames requested by the others.
"""

from __future__ import annotations

import secrets
import time

from mosaic_contract.fastlane import layout
from mosaic_contract.fastlane.layout import (
    EXPIRES,
    INTERVAL,
    LEASE_WORDS,
    LEASES,
    LEASES_AT,
    TOKEN,
    Ring,
    new_fence,
)

LEASE_SECONDS = 2.0
_LEASE_NS = int(LEASE_SECONDS * 1e9)
_RENEWAL_NS = _LEASE_NS // 4


def smallest_interval(words: memoryview, now: int) -> int | None:
    """Return the shortest interval (ns) of the active leases, None without a viewer."""
    table = words[LEASES_AT : LEASES_AT + LEASES * LEASE_WORDS].tolist()
    intervals = [
        table[offset + INTERVAL]
        for offset in range(0, len(table), LEASE_WORDS)
        if table[offset + TOKEN] and now < table[offset + EXPIRES] <= now + 2 * _LEASE_NS
    ]
    return min(intervals) if intervals else None


class Lease:
    """A reader's lease in the current ring of its run."""

    def __init__(self) -> None:
        self._fence = new_fence()
        self._token = secrets.randbits(63) | 1
        self._words: memoryview | None = None
        self._offset = 0
        self._interval = 0
        self._renew_at = 0

    def renew(self, ring: Ring, fps: float) -> None:
        """Keep the lease alive. Writes only if a renewal is due or the rate has changed."""
        interval, now = int(1e9 / max(fps, 1e-3)), time.monotonic_ns()
        if self._words is not ring.words:
            self._words, self._offset, self._renew_at = ring.words, 0, 0
        is_held = self._offset and self._words[self._offset + TOKEN] == self._token
        if is_held and interval == self._interval and now < self._renew_at:
            return
        if not is_held:
            self._offset = self._find_entry(ring.words, now)
        self._interval, self._renew_at = interval, now + _RENEWAL_NS
        if self._offset:
            self._words[self._offset + TOKEN] = self._token
            self._words[self._offset + INTERVAL] = interval
            self._words[self._offset + EXPIRES] = now + _LEASE_NS
        self._fence()  # a writer that sees the word also sees the lease
        self._words[layout.INTEREST_AT] = 1

    def end(self) -> None:
        """Release the lease."""
        if self._words is not None and self._offset and self._words[self._offset + TOKEN] == self._token:
            self._words[self._offset + EXPIRES] = 0
            self._words[self._offset + TOKEN] = 0
        self._words = None

    def _find_entry(self, words: memoryview, now: int) -> int:
        """Return the offset of this lease (copied if the ring moved), else of a free entry, else 0."""
        offsets = [LEASES_AT + index * LEASE_WORDS for index in range(LEASES)]
        first = secrets.randbelow(LEASES)
        offsets = offsets[first:] + offsets[:first]
        tokens = {words[offset + TOKEN]: offset for offset in offsets}
        free = (offset for offset in offsets if not words[offset + TOKEN] or now >= words[offset + EXPIRES])
        return tokens.get(self._token) or next(free, 0)
