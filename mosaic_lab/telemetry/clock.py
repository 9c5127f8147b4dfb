"""The time axis of a run: seconds since its start, never going back."""

from __future__ import annotations

JITTER_SECONDS = 1.0
"""Threads of one worker may write slightly out of order; going back by more than this is a clock that was
set.
"""


class RunClock:
    """Turns timestamps into seconds since the run's start.

    After a clock was set back, time goes on from where it stood. A missing timestamp repeats the last moment.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        """The newest moment seen."""
        self._zero: float | None = None

    def at(self, timestamp: float | None) -> float:
        """Return the seconds since the start at ``timestamp``."""
        if timestamp is None:
            return self.seconds
        if self._zero is None:
            self._zero = timestamp
            return 0.0
        seconds = timestamp - self._zero
        if seconds < self.seconds - JITTER_SECONDS:
            self._zero = timestamp - self.seconds
        elif seconds > self.seconds:
            self.seconds = seconds
        return self.seconds
