"""Leases, by which readers show a writer that they watch and how often they want a frame.

A lease is a token, a time when it ends and an interval. A reader renews its own several times before it ends;
one that crashes just stops, and its lease lapses. Nothing is locked: two readers that take the same free
place at the same moment both write there, the last one stays, and the other notices at its next call, because
the token is not its own, and takes another place. Until then the writer may see the interval of one and the
end of the other, which does no harm. With all places taken a reader sees the frames that the others
requested.
"""

from __future__ import annotations

import secrets
import time

from mosaic_contract.fastlane import layout
from mosaic_contract.fastlane.fence import new_fence
from mosaic_contract.fastlane.layout import EXPIRES, INTERVAL, LEASE_WORDS, LEASES, LEASES_AT, TOKEN, Ring

LEASE_SECONDS = 2.0
_LEASE = int(LEASE_SECONDS * 1e9)
_RENEW = _LEASE // 4


def smallest_interval(words: memoryview, now: int) -> int | None:
    """Return the shortest interval (ns) of the leases that have not lapsed, None without a viewer."""
    table = words[LEASES_AT : LEASES_AT + LEASES * LEASE_WORDS].tolist()
    live = [
        table[at + INTERVAL]
        for at in range(0, len(table), LEASE_WORDS)
        if table[at + TOKEN] and now < table[at + EXPIRES] <= now + 2 * _LEASE
    ]
    return min(live) if live else None


class Lease:
    """A reader's lease in whichever ring its run has at the moment."""

    def __init__(self) -> None:
        self._fence = new_fence()
        self._token = secrets.randbits(63) | 1
        self._words: memoryview | None = None
        self._at = 0
        self._interval = 0
        self._renew_at = 0

    def renew(self, ring: Ring, fps: float) -> None:
        """Keep the lease alive; writes only when it is due or has changed."""
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
        self._fence()  # who sees the word sees the lease
        self._words[layout.INTEREST_AT] = 1

    def end(self) -> None:
        """Give the lease back."""
        if self._words is not None and self._at and self._words[self._at + TOKEN] == self._token:
            self._words[self._at + EXPIRES] = 0
            self._words[self._at + TOKEN] = 0
        self._words = None

    def _free_place(self, words: memoryview, now: int) -> int:
        """Return our place (a ring that moved has copied it), else a free one, else 0."""
        places = [LEASES_AT + index * LEASE_WORDS for index in range(LEASES)]
        first = secrets.randbelow(LEASES)
        places = places[first:] + places[:first]
        tokens = {words[at + TOKEN]: at for at in places}
        free = [at for at in places if not words[at + TOKEN] or not now < words[at + EXPIRES]]
        return tokens.get(self._token) or next(iter(free), 0)
