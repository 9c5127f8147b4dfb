"""The bandwidth to a page: whether it is too low for large frames, found out by sending them.

What a connection carries is unknown while it is hardly used; so frames go in the form that costs the kernel
least, and come smaller for a while once they are held up much of the time.
"""

from __future__ import annotations

LOW_SECONDS, MOST_LOW_SECONDS = 15.0, 240.0
"""How long the bandwidth counts as low until it is tried again: each time twice as long."""
JUDGE_SECONDS = 1.0
HELD_UP = 0.4
"""Share of the time in which a frame was due and had to wait."""
LARGE_BYTES = 64 << 10
"""Of a message, on average: smaller ones are not held up for their size."""


class Bandwidth:
    """The bandwidth to one view of a page; ``low`` is False at first."""

    def __init__(self, now: float) -> None:
        self.low = False
        self._until = 0.0
        self._seconds = LOW_SECONDS
        self._judged_at = now
        self._held_since: float | None = None
        self._held = 0.0
        self._messages = self._bytes = 0

    def delay(self, now: float) -> None:
        """Note that a frame is due and may not be sent yet."""
        if self._held_since is None:
            self._held_since = now

    def send(self, nbytes: int, now: float) -> None:
        """Note that a message of so many bytes is sent."""
        self._release(now)
        self._held_since = None
        self._messages += 1
        self._bytes += nbytes

    def judge(self, now: float) -> None:
        """Decide again whether it is ``low``; to be called now and then while frames are sent."""
        passed = now - self._judged_at
        if passed < JUDGE_SECONDS:
            return
        self._release(now)
        if self.low:
            self.low = now < self._until
        elif self._held > HELD_UP * passed and self._bytes > LARGE_BYTES * self._messages:
            self.low, self._until = True, now + self._seconds
            self._seconds = min(MOST_LOW_SECONDS, 2 * self._seconds)
        self._judged_at, self._held = now, 0.0
        if self._messages > 1:  # what is on its way for longer than this still counts
            self._bytes, self._messages = self._bytes // self._messages, 1

    def _release(self, now: float) -> None:
        if self._held_since is not None:
            self._held += now - max(self._held_since, self._judged_at)
            self._held_since = now
