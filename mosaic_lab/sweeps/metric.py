"""The metric of a sweep, read of the telemetry of a trial's runs while they go on."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mosaic_lab.runs import Run
from mosaic_lab.telemetry.column_cache import ColumnCache
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metric_names import RETURN_NAMES

WINDOW = 20
"""Points, such as episodes, over which a value is a mean: that of the last 20 until a step."""
AGGREGATES = ("mean", "iqm")


class MetricFollower:
    """One metric of one run. ``episode_return`` is its return, by whatever name its worker has for that."""

    def __init__(self, run: Run, metric: str, cache: ColumnCache) -> None:
        self._run = run
        self._metric = metric
        self._columns = RunColumns(run.path, cache)
        self._steps: NDArray[np.float64] = np.empty(0)
        self._values: NDArray[np.float64] = np.empty(0)

    def read(self) -> None:
        """Take in what is new. Raises OSError where the telemetry cannot be read."""
        while self._columns.read(lambda: self._run.finished):
            pass
        names = RETURN_NAMES if self._metric == RETURN_NAMES[0] else (self._metric,)
        known = self._columns.names
        pieces = self._columns.pieces(next((name for name in names if name in known), self._metric))
        self._steps = np.concatenate([np.empty(0), *(piece.step for piece in pieces)])
        self._values = np.concatenate([np.empty(0), *(piece.value for piece in pieces)])

    @property
    def step(self) -> float:
        """The step of the newest point; 0 before the first."""
        return float(self._steps.max()) if len(self._steps) else 0.0

    @property
    def names(self) -> list[str]:
        """The metrics that the run has reported."""
        return self._columns.names

    def value(self, step: float = math.inf) -> float | None:
        """Return the mean of the last 20 finite values until ``step``; None without one."""
        values = self._values[(self._steps <= step) & np.isfinite(self._values)][-WINDOW:]
        return float(values.mean()) if len(values) else None


def aggregated(values: Iterable[float], aggregate: str) -> float:
    """Return the mean of the values of a trial's seeds, or the interquartile mean: without a quarter of them,
    rounded down, at either end."""
    found = np.sort(np.array([*values]))
    cut = len(found) // 4 if aggregate == "iqm" else 0
    return float(found[cut : len(found) - cut].mean())
