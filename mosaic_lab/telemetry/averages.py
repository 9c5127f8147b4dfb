"""Averages of a metric over equal stretches of a run, for smoothed curves and means over seeds.

Extremes, which a chart of
single values needs, make a biased average, so the averages are kept apart from them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STRETCHES = 1024
"""Stretches held at most. When they are full, neighbours are joined and the stretches become twice as long.
"""


class Averages:
    """Sums of points over stretches of equally many points. Up to 1,024 points a stretch is one point."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._taken = 0
        self._length = 1
        self._sums: NDArray[np.float64] = np.zeros((rows, 0))
        self._counts: NDArray[np.float64] = np.zeros(0)

    def extend(self, points: NDArray[np.float64]) -> None:
        """Take in points, float64[rows, n]."""
        new = points.shape[1]
        if new == 0:
            return
        while self._taken + new > STRETCHES * self._length:
            self._sums, self._counts = _join(self._sums), _join(self._counts)
            self._length *= 2
        first = self._taken // self._length
        stretch = np.arange(self._taken, self._taken + new) // self._length - first
        added: NDArray[np.float64] = np.stack([np.bincount(stretch, row) for row in points])
        counts = np.bincount(stretch).astype(np.float64)
        open_stretches = len(self._counts) - first  # 1 if the last stretch is not full yet, else 0
        if open_stretches:
            added[:, 0] += self._sums[:, first]
            counts[0] += self._counts[first]
        self._sums = np.concatenate([self._sums[:, :first], added], axis=1)
        self._counts = np.concatenate([self._counts[:first], counts])
        self._taken += new

    def means(self, limit: int) -> NDArray[np.float64]:
        """The mean of each row over at most ``limit`` stretches, float64[rows, m], in order of appearance."""
        sums, counts = self._sums, self._counts
        while len(counts) > limit:
            sums, counts = _join(sums), _join(counts)
        return sums / counts


def _join(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of neighbours along the last axis; a last one without a neighbour stays."""
    return np.add.reduceat(numbers, np.arange(0, numbers.shape[-1], 2), axis=-1)
