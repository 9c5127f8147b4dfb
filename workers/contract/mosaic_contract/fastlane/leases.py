"""Leases, which show a writer that a reader is watching and at which rate it requests frames.

A lease consists of a token, an expiry time and an interval. A reader renews its lease several times before it
expires; the lease of a crashed reader lapses. Nothing is locked. If two readers take the same free place at
the same moment, the last write wins; the other reader notices at its next call that the token is not its own,
and takes another place. Until then the writer may combine the interval of one with the expiry of the other,
which is harmless. If all places are taken, a reader receives the frames requested by the others.
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
_LEASE = int(LEASE_SECONDS * 1e9)
_RENEW = _LEASE // 4


def smallest_interval(words: memoryview, now: int) -> int | None:
    """Return the shortest interval (ns) of the active leases, None without a viewer."""
    table = words[LEASES_AT : LEASES_AT + LEASES * LEASE_WORDS].tolist()
    live = [
        table[at + INTERVAL]
        for at in range(0, len(table), LEASE_WORDS)
        if table[at + TOKEN] and now < table[at + EXPIRES] <= now + 2 * _LEASE
    ]
    return min(live) if live else None


class Lease:
    """A reader's lease in the current ring of its run."""

    def __init__(self) -> None:
        self._fence = new_fence()
        self._token = secrets.randbits(63) | 1
        self._words: memoryview | None = None
        self._at = 0
        self._interval = 0
        self._renew_at = 0

    def renew(self, ring: Ring, fps: float) -> None:
        """Keep the lease alive. Writes only if a renewal is due or the rate has changed."""
        interval, now = int(1e9 / max(fps, 1e-3)), time.monotonic_ns()
        if self._words is not ring.words:
            self._words, self._at, self._renew_at = ring.words, 0, 0
        mine = self._at and self._words[self._at + TOKEN] == self._token
        if mine and interval == self._interval and now < self._renew_at:
            return
        if not mine:
            self._at = self._free_place(ring.words, now)
        self._interval, self._renew_at = interval, now + _RENEW
        if self._at:
            self._words[self._at + TOKEN] = self._token
            self._words[self._at + INTERVAL] = interval
            self._words[self._at + EXPIRES] = now + _LEASE
        self._fence()  # a writer that sees the word also sees the lease
        self._words[layout.INTEREST_AT] = 1

    def end(self) -> None:
        """Release the lease."""
        if self._words is not None and self._at and self._words[self._at + TOKEN] == self._token:
            self._words[self._at + EXPIRES] = 0
            self._words[self._at + TOKEN] = 0
        self._words = None

    def _free_place(self, words: memoryview, now: int) -> int:
        """Return our place (copied if the ring moved), else a free place, else 0."""
        places = [LEASES_AT + index * LEASE_WORDS for index in range(LEASES)]
        first = secrets.randbelow(LEASES)
        places = places[first:] + places[:first]
        tokens = {words[at + TOKEN]: at for at in places}
        free = [at for at in places if not words[at + TOKEN] or not now < words[at + EXPIRES]]
        return tokens.get(self._token) or next(iter(free), 0)
