"""The request of a chart of curves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from mosaic_lab.errors import ConfigurationError

Axis = Literal["step", "episode", "time", "relative"]
FEWEST_POINTS = 16
"""Of a line: fewer do not show a curve."""
MOST_POINTS = 10_000


@dataclass(frozen=True)
class CurveRequest:
    """A chart's metric, axes, range, smoothing and grouping.

    Raises ConfigurationError for values that cannot be drawn.

    ``x``: the steps, the episodes ended so far, Unix seconds ("time"), or seconds since the run's first line
    ("relative"). ``start`` and ``end``: the part of the x axis in view, None as far as there is data; the
    next point beyond either side belongs to it, so that lines reach the edges. ``points``: of a line at most.
    ``smoothing``: the weight of the past in an exponential moving average, 0 to less than 1. ``outliers``:
    whether values are left out that `run_points.usual_range` excludes. ``group_by``: names of settings (see
    `grouping.setting`); runs that agree in all of them become one line, their mean with its 95% interval.
    """

    metric: str
    x: Axis = "step"
    start: float | None = None
    end: float | None = None
    points: int = 600
    smoothing: float = 0.0
    outliers: bool = False
    group_by: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.x not in get_args(Axis):
            raise ConfigurationError(f"x must be one of {', '.join(get_args(Axis))}, not {self.x!r}")
        if not FEWEST_POINTS <= self.points <= MOST_POINTS:
            raise ConfigurationError(
                f"points must be {FEWEST_POINTS} to {MOST_POINTS:,}, not {self.points!r}"
            )
        if not 0 <= self.smoothing < 1:
            raise ConfigurationError(f"smoothing must be 0 to less than 1, not {self.smoothing!r}")
        for side in (self.start, self.end):
            if side is not None and not math.isfinite(side):
                raise ConfigurationError(f"the range must be of finite numbers, not {side!r}")
