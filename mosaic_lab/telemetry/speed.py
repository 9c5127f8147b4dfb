"""An estimate of a run's speed that does not jump.

Learners report in bursts: nothing while a batch is collected, then a whole batch of steps at once. A rate
over a fixed stretch of time would swing with the number of bursts that happen to lie in it. So the window
holds *advances* (moments at which the step grew), and the rate is the growth between the first and the last
of them. A pause no longer than the longest one in the window is ordinary; only what goes beyond it counts as
lost time, so a stalled run slows down smoothly instead of showing its last speed for ever. The time until the
step first grows is not the learner's: it imports and compiles then.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

WINDOW_SECONDS = 12.0
"""Advances older than this leave the window, as long as ``MIN_ADVANCES`` stay."""
MIN_ADVANCES = 8
SPACING_SECONDS = 0.25
"""Advances closer together than this are one: it bounds the window's memory at any rate of lines."""
LEAST_SECONDS = 2.0
"""Advances over a shorter time say nothing yet."""


class SpeedEstimate:
    """Steps per second over the last 12 seconds of the run's own clock (longer, where it advances rarely)."""

    def __init__(self) -> None:
        self._advances: deque[tuple[float, float]] = deque()
        self._furthest: float | None = None
        self._now = 0.0

    def observe(self, seconds: float, step: float) -> None:
        """The run stood at ``step`` at ``seconds`` on its clock. A step that does not grow only moves the
        clock.
        """
        self._now = max(self._now, seconds)
        furthest, self._furthest = self._furthest, max(self._furthest or 0, step)
        if furthest is None or step <= furthest:
            return
        if self._advances and seconds - self._advances[-1][0] < SPACING_SECONDS:
            return
        self._advances.append((seconds, step))
        while len(self._advances) > MIN_ADVANCES and seconds - self._advances[0][0] > WINDOW_SECONDS:
            self._advances.popleft()

    @property
    def steps_per_second(self) -> float | None:
        """The estimate, or ``None`` before the run has advanced for two seconds."""
        if not self._advances:
            return None
        (first_time, first_step), (last_time, last_step) = self._advances[0], self._advances[-1]
        if last_time - first_time < LEAST_SECONDS:
            return None
        times = [time for time, _ in self._advances]
        longest_pause = max(later - earlier for earlier, later in pairwise(times))
        until = max(last_time, self._now - longest_pause)
        return (last_step - first_step) / (until - first_time)
