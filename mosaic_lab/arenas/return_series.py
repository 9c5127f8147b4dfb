"""The return after each step of an episode, thinned out so that it never grows beyond what a chart needs."""

from __future__ import annotations

MOST_POINTS = 500


class ReturnSeries:
    """Points (step, return). When there are too many, every second one goes and half as many are taken."""

    def __init__(self) -> None:
        self._points: list[tuple[int, float]] = [(0, 0.0)]
        self._last = (0, 0.0)
        self._every = 1

    def add(self, step: int, total: float) -> None:
        """The return after ``step`` steps."""
        self._last = (step, total)
        if step % self._every == 0:
            self._points.append(self._last)
            if len(self._points) >= MOST_POINTS:
                self._every *= 2
                self._points = [point for point in self._points if point[0] % self._every == 0]

    def points(self) -> list[tuple[int, float]]:
        """What is kept, oldest first; the newest point is always among them."""
        return self._points if self._points[-1] == self._last else [*self._points, self._last]
