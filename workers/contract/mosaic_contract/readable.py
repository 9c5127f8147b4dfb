"""Waiting until a pipe from another process can be read."""

from __future__ import annotations

import select
import time

_AWAKE_SECONDS = 4e-4  # a small network, and a few light environments, take less
_MAX_SKIPPED = 8  # powers of two


class Readable:
    """The reading end of a pipe.

    `wait` stays awake for a moment before it sleeps: an answer that arrives within that time is read without
    the delay of a wake-up. If none arrives, because it takes longer or because no core is free, the next
    attempts are skipped, twice as many after each failure.
    """

    def __init__(self, descriptor: int) -> None:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        self._poll = poll.poll
        self._failures = self._skipped = 0

    def wait(self, seconds: float | None) -> bool:
        """Return whether the pipe can be read within so many seconds, None: wait indefinitely."""
        if self._poll(0):
            return True
        if self._skipped:
            self._skipped -= 1
        elif seconds != 0:
            if self._comes_soon():
                self._failures = max(0, self._failures - 1)
                return True
            self._failures = min(self._failures + 1, _MAX_SKIPPED)
            self._skipped = (1 << self._failures) - 1
        return bool(self._poll(None if seconds is None else 1e3 * seconds))

    def _comes_soon(self) -> bool:
        poll, clock = self._poll, time.perf_counter
        end = clock() + _AWAKE_SECONDS
        while not poll(0):
            if clock() > end:
                return False
        return True
