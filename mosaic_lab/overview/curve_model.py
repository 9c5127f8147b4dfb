"""A chart of curves: the requests for it, and the lines of the answer."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from mosaic_lab.chart_style import MarkPosition
from mosaic_lab.errors import ConfigurationError

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]
"""``(x, y)``, with non-decreasing x and NaN in y as a gap."""
AXES = ("step", "episode", "time", "relative")
Name = Annotated[str, Meta(max_length=300)]
MIN_POINTS = 16
"""Minimum number of points of a line: fewer do not show a curve."""
MAX_POINTS = 10_000
LARGEST_EXACT = 2.0**24
"""Integers up to this value are exact in float32."""
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


class CurveRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A chart's metric, axes, range, smoothing and grouping, as a page requests it.

    Raises ConfigurationError for values that cannot be drawn.

    ``x``: the steps, the number of ended episodes, Unix seconds ("time"), or seconds since the run's first
    line ("relative"). ``start`` and ``end``: the visible part of the x axis, None for the limit of the data;
    the next point beyond either side is included so that lines reach the edges. ``points``: maximum number of
    points per line. ``smoothing``: the weight of the past in an exponential moving average, in [0, 1).
    ``outliers``: whether values excluded by `run_points.usual_range` are omitted. ``group_by``: names of
    settings (see `curves.setting`); runs with equal values become one line, their mean with its 95% interval.
    """

    metric: Name
    x: Name = "step"
    start: float | None = None
    end: float | None = None
    points: int = 600
    smoothing: float = 0.0
    outliers: bool = False
    group_by: Annotated[tuple[Name, ...], Meta(max_length=20)] | None = None

    def __post_init__(self) -> None:
        if self.x not in AXES:
            raise ConfigurationError(f"x must be one of {', '.join(AXES)}, not {self.x!r}")
        if not MIN_POINTS <= self.points <= MAX_POINTS:
            raise ConfigurationError(f"points must be {MIN_POINTS} to {MAX_POINTS:,}, not {self.points!r}")
        if not 0 <= self.smoothing < 1:
            raise ConfigurationError(f"smoothing must be ≥ 0 and < 1, not {self.smoothing!r}")
        for side in (self.start, self.end):
            if side is not None and not math.isfinite(side):
                raise ConfigurationError(f"the range must have finite numbers, not {side!r}")


class ChartRequest(CurveRequest, frozen=True, kw_only=True):
    """Curves with the axes and colours of their chart. Raises ConfigurationError for values that cannot be
    drawn.

    ``colors`` maps the key of a line to ``#rrggbb``; by default lines have the colours of all charts. ``low``
    and ``high`` are the limits of the y axis.
    """

    log_x: bool = False
    log_y: bool = False
    low: float | None = None
    high: float | None = None
    colors: dict[Name, Name] = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        for color in self.colors.values():
            if not _COLOR.fullmatch(color):
                raise ConfigurationError(f"a colour must be #rrggbb, not {color!r}")


@dataclass(frozen=True, eq=False)
class CurveLine:
    """One line: a run, or the mean over a group of runs, with its interval.

    ``low`` and ``high`` are the bounds of a run's evaluations, or of a mean over enough runs. With fewer
    runs, each run of the group has its own line, and its ``thin`` is the key of the mean in front of it.
    ``marks`` are the starts of a curriculum's stages.
    """

    key: str
    runs: tuple[str, ...]
    label: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    thin: str | None = None
    marks: Sequence[MarkPosition] = ()


@dataclass(eq=False)
class Curves:
    """The lines of a chart. ``range`` covers all data of these runs on the x axis, in view or not.

    ``read`` is below 1 while some of the runs' files remain to be parsed; a later request returns longer
    lines. ``notes`` name omitted data and the reasons.
    """

    x_label: str
    lines: list[CurveLine] = field(default_factory=list)
    range: tuple[float, float] | None = None
    read: float = 1.0
    notes: list[str] = field(default_factory=list)

    def answer(self) -> tuple[dict[str, Any], list[bytes]]:
        """Return the message for a page: JSON with the positions of the numbers, and their bytes."""
        buffers: list[bytes] = []
        lines = []
        for line in self.lines:
            entry: dict[str, Any] = {"key": line.key, "runs": list(line.runs), "label": line.label}
            if line.thin is not None:
                entry["thin"] = line.thin
            if line.marks:
                entry["marks"] = [position._asdict() for position in line.marks]
            numbers = {"x": line.x, "y": line.y, "low": line.low, "high": line.high}
            for name, column in numbers.items():
                if column is not None:
                    array = column if name == "x" else _compact(column)
                    entry[name] = {"dtype": str(array.dtype), "length": len(array)}
                    buffers.append(array.tobytes())
            lines.append(entry)
        content = {"x_label": self.x_label, "lines": lines, "range": self.range}
        return {**content, "read": self.read, "notes": self.notes}, buffers


def _compact(column: Floats) -> NDArray[np.floating]:
    """Return the numbers in float32, unless this would change large integers."""
    large = np.nanmax(np.abs(column), initial=0.0) > LARGEST_EXACT
    return column if large else column.astype(np.float32)
