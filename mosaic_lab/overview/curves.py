"""Curves of any number of runs for drawing: the visible part, at the resolution of the chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from mosaic_lab.chart_marks import Place
from mosaic_lab.overview.averages import GRID_POINTS, smooth
from mosaic_lab.overview.column_pool import READ_SECONDS, ColumnPool, Reading
from mosaic_lab.overview.curve_model import FEWEST_POINTS, CurveLine, CurveRequest, Curves
from mosaic_lab.overview.grouping import mean_lines
from mosaic_lab.overview.run_points import Points, read_points, stage_places
from mosaic_lab.runs import Run
from mosaic_lab.runs.run_labels import distinct_names
from mosaic_lab.telemetry.metric_names import ordered

__all__ = ["CurveLine", "CurveRequest", "Curves", "curves", "metric_names"]

ALL_POINTS = 120_000
"""Maximum number of points of all lines of a chart: 600 each for 200 runs."""
X_LABELS = {"step": "steps", "episode": "episodes", "time": "time", "relative": "seconds since the start"}


def metric_names(runs: Sequence[Run], pool: ColumnPool) -> list[str]:
    """Return the metrics of all runs in the usual order, the default first."""
    columns_by_run = pool.columns(runs, Reading())
    return ordered(name for _, columns in columns_by_run for name in columns.names)


def curves(
    runs: Sequence[Run], request: CurveRequest, pool: ColumnPool, seconds: float = READ_SECONDS
) -> Curves:
    """Return the lines of a chart, one per run or one per group; parsing takes at most about ``seconds``.

    A line has at most ``request.points`` points, fewer if the total would exceed 120,000. A line's points are
    points of the run's file, including the extremes, unless the line is smoothed or grouped: these start from
    averages over segments of equally many points.
    """
    most = max(FEWEST_POINTS, min(request.points, ALL_POINTS // max(1, len(runs))))
    averaged = bool(request.smoothing) or request.group_by is not None
    if request.group_by is not None:
        # As coarse as the grid: an interval over single episodes would show their noise, not the runs'.
        # Computed over the whole axis, because a mean must not depend on the visible range.
        most = min(most, GRID_POINTS)
        drawn_request = structs.replace(request, start=None, end=None)
    else:
        drawn_request = request
    reading = Reading()
    drawn: list[tuple[Run, Points, tuple[Place, ...]]] = []
    for run, columns in pool.columns(runs, reading, seconds):
        points = read_points(columns, drawn_request, most, averaged)
        if len(points.curve[0]):
            drawn.append((run, points, stage_places(run, columns, request.x)))
    result = Curves(X_LABELS[request.x], read=reading.fraction, notes=reading.problems)
    if not drawn:
        return result
    result.range = (min(points.low for _, points, _ in drawn), max(points.high for _, points, _ in drawn))
    runs = [run for run, _, _ in drawn]
    for (run, points, marks), label in zip(drawn, distinct_names(runs), strict=True):
        x, y = points.curve[0], smooth(points.curve[1], request.smoothing)
        result.lines.append(CurveLine(run.id, (run.id,), label, x, y, marks=marks))
    if request.group_by is not None:
        lines, notes = mean_lines(runs, result.lines, request.group_by)
        result.lines = [_in_view(line, request) for line in lines]
        result.notes += notes
    return result


def _in_view(line: CurveLine, request: CurveRequest) -> CurveLine:
    """Return the visible part of a line, with the next point beyond either side."""
    first = 0 if request.start is None else max(0, int(np.searchsorted(line.x, request.start, "left")) - 1)
    last = len(line.x) if request.end is None else int(np.searchsorted(line.x, request.end, "right")) + 1
    part = slice(first, last)
    low, high = (None if bound is None else bound[part] for bound in (line.low, line.high))
    return replace(line, x=line.x[part], y=line.y[part], low=low, high=high)
