"""Metric names, their order in lists, and the two numbers that sum up a run's returns everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from mosaic_lab.keeper.events import EVALUATED, SYSTEM_PREFIX
from mosaic_lab.keeper.tail import recent_returns

Floats = NDArray[np.float64]
WINDOW = 20
"""Number of episodes over which the last and the best return are averaged."""
LARGEST = 1e300
LAST, BEST = f"return, last {WINDOW}", f"best mean of {WINDOW}"
"""Their titles in tables."""
RETURN_NAMES = ("episode_return", "charts/episodic_return", "rollout/ep_rew_mean")
"""Metrics that are a run's return, in order of preference."""
SPEED = "steps_per_second"
"""The worker's speed in each second. A run's own speed is derived from its steps, see `StepProgress`."""
COMMON_NAMES = ("episode_return", "episode_length", "policy_loss", "value_loss", SPEED)
"""Metrics that all workers report under the same name, in addition to upstream's own."""


class ReturnMeans(Struct):
    """The mean of the last 20 returns and the best mean over 20 consecutive returns; with fewer, the mean of
    all. Only values accepted by `is_usable` count."""

    last: float | None = None
    best_window: float | None = None
    """The best mean of complete windows."""
    newest: list[float] = []

    @property
    def best(self) -> float | None:
        """The best mean so far."""
        return self.last if self.best_window is None else self.best_window

    def add(self, values: ArrayLike) -> None:
        """Add further returns."""
        added = np.asarray(values, np.float64)
        recent = np.concatenate([self.newest, added[is_usable(added)]])
        if not len(recent):
            return
        means = sliding_window_view(recent, min(WINDOW, len(recent))).mean(axis=1)
        self.last = float(means[-1])
        if len(recent) >= WINDOW:
            best = -np.inf if self.best_window is None else self.best_window
            self.best_window = max(float(means.max()), best)
        self.newest = recent[1 - WINDOW :].tolist()


def episodes_return(telemetry: Path) -> float | None:
    """Return the mean over a run's last 20 episode lines, which is its last return if no metric is."""
    means = ReturnMeans()
    means.add(recent_returns(telemetry, WINDOW))
    return means.last


def is_usable(values: Floats) -> NDArray[np.bool_]:
    """Return a mask of the values that are neither NaN nor so large that their sum would overflow."""
    return np.abs(values) < LARGEST


def ordered(names: Iterable[str]) -> list[str]:
    """Return each name once: common metrics and returns first, system metrics last, all others sorted."""
    distinct, (common, *more) = set(names), COMMON_NAMES
    usual = dict.fromkeys((common, f"{EVALUATED}return", *more, *RETURN_NAMES))
    first = [name for name in usual if name in distinct]
    return first + sorted(distinct - set(first), key=lambda name: (name.startswith(SYSTEM_PREFIX), name))


def charted(names: Iterable[str]) -> list[str]:
    """Return the metrics for charts, `ordered`: all but the bounds of evaluations, which are drawn around
    their means."""
    return [
        name
        for name in ordered(names)
        if not (name.startswith(EVALUATED) and name.endswith(("_low", "_high")))
    ]


def default_metric(names: Sequence[str]) -> str | None:
    """Return the first metric that is a return, otherwise the first that is not a system metric."""
    reported = [name for name in names if not name.startswith(SYSTEM_PREFIX)]
    return next((name for name in RETURN_NAMES if name in reported), reported[0] if reported else None)
