"""Whether the way to a page is too narrow for large frames: found out by sending them.

What crosses this boundary: times and sizes. What a way carries cannot be told while it is hardly used; so
frames go in the form that costs the kernel least, and come smaller for a while once they are held up much of
the time.
"""

from __future__ import annotations

NARROW_SECONDS, MOST_NARROW_SECONDS = 15.0, 240.0
"""How long a way counts as narrow until it is tried again: each time twice as long."""
JUDGE_SECONDS = 1.0
HELD_UP = 0.4
"""Share of the time in which a frame was due and had to wait."""
LARGE_BYTES = 64 << 10
"""Of a message, on average: smaller ones are not held up for their size."""


class Bandwidth:
    """The way to one view of a page. Wide at first."""

    def __init__(self, now: float) -> None:
        self.narrow = False
        self._until = 0.0
        self._seconds = NARROW_SECONDS
        self._judged_at = now
        self._held_since: float | None = None
        self._held = 0.0
        self._messages = self._bytes = 0

    def hold(self, now: float) -> None:
        """A frame is due and may not be sent yet."""
        if self._held_since is None:
            self._held_since = now

    def send(self, nbytes: int, now: float) -> None:
        self._release(now)
        self._held_since = None
        self._messages += 1
        self._bytes += nbytes

    def judge(self, now: float) -> None:
        """To be called now and then while frames are sent."""
        passed = now - self._judged_at
        if passed < JUDGE_SECONDS:
            return
        self._release(now)
        if self.narrow:
            self.narrow = now < self._until
        elif self._held > HELD_UP * passed and self._bytes > LARGE_BYTES * self._messages:
            self.narrow, self._until = True, now + self._seconds
            self._seconds = min(MOST_NARROW_SECONDS, 2 * self._seconds)
        self._judged_at, self._held = now, 0.0
        if self._messages > 1:  # what is on its way for longer than this still counts
            self._bytes, self._messages = self._bytes // self._messages, 1

    def _release(self, now: float) -> None:
        if self._held_since is not None:
            self._held += now - max(self._held_since, self._judged_at)
            self._held_since = now
