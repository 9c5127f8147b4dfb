"""The metric of a sweep, read from the telemetry of a trial's runs during training."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mosaic_lab.runs import Run
from mosaic_lab.telemetry.column_cache import ColumnCache
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metric_names import RETURN_NAMES

WINDOW = 20
"""Number of points, such as episodes, in the moving average of the metric."""


class MetricFollower:
    """One metric of one training. ``runs`` are its runs in order, each with the step up to which it counts.
    ``episode_return`` is the return, under whatever name the worker reports it.
    """

    def __init__(self, runs: Sequence[tuple[Run, float]], metric: str, cache: ColumnCache) -> None:
        self._metric = metric
        limits = np.minimum.accumulate([kept for _, kept in reversed(runs)])[
            ::-1
        ]  # a resumed run supersedes part of the previous one
        self._parts = [
            (run, RunColumns(run.path, cache), float(limit))
            for (run, _), limit in zip(runs, limits, strict=True)
            if limit > 0
        ]
        self._steps: NDArray[np.float64] = np.empty(0)
        self._values: NDArray[np.float64] = np.empty(0)

    def read(self) -> None:
        """Read new telemetry. Raises OSError if it cannot be read."""
        steps, values = [np.empty(0)], [np.empty(0)]
        wanted = RETURN_NAMES if self._metric == RETURN_NAMES[0] else (self._metric,)
        for run, columns, limit in self._parts:
            while columns.read(lambda run=run: run.finished):  # type: ignore[misc]
                pass
            names = columns.names
            for piece in columns.pieces(next((name for name in wanted if name in names), self._metric)):
                counts = piece.step <= limit
                steps.append(piece.step[counts])
                values.append(piece.value[counts])
        self._steps, self._values = np.concatenate(steps), np.concatenate(values)

    @property
    def step(self) -> float:
        """The step of the newest point; 0 before the first."""
        return float(self._steps.max()) if len(self._steps) else 0.0

    @property
    def names(self) -> list[str]:
        """The metrics reported by the newest run."""
        return self._parts[-1][1].names

    def value(self, step: float = math.inf) -> float | None:
        """Return the mean of the last 20 finite values up to ``step``; None if there are no values."""
        values = self._values[(self._steps <= step) & np.isfinite(self._values)][-WINDOW:]
        return float(values.mean()) if len(values) else None


def aggregated(values: Iterable[float], aggregate: str) -> float:
    """Return the mean of the values of a trial's seeds, or their interquartile mean, which drops a quarter of
    them, rounded down, at either end.

    It is rounded to 12 digits: means of the same return over 3 and 20 episodes differ in the last digits,
    which would break ties.
    """
    ordered = np.sort(np.array([*values]))
    cut = len(ordered) // 4 if aggregate == "iqm" else 0
    return float(f"{ordered[cut : len(ordered) - cut].mean():.12g}")
