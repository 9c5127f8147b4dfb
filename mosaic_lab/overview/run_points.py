"""The points of one run's metric for a chart: in view, without outliers, few enough to draw.

`step_positions` maps steps of the run, such as those of its films, to the chart's x axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray
from tsdownsample import MinMaxDownsampler

from mosaic_lab.chart_style import MarkPosition
from mosaic_lab.overview.curve_model import AXES, MIN_POINTS, Curve, CurveRequest, Floats
from mosaic_lab.runs import Run
from mosaic_lab.runs.curriculum import stage_marks
from mosaic_lab.telemetry.column_chunks import CHUNK_ROWS, Piece
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metrics import default_metric

Steps = NDArray[np.int64]
SAMPLE = 4096
"""Number of values sampled to detect outliers."""
CENTRE = (2.5, 97.5)
"""Percentiles that enclose the central values."""
_MIN_MAX = MinMaxDownsampler()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, eq=False)
class Points:
    """A curve, and the minimum and maximum x of all points, in view or not."""

    curve: Curve
    low: float
    high: float


def read_points(columns: RunColumns, request: CurveRequest, max_points: int, averaged: bool) -> Points:
    """Return at most ``max_points`` of a run: its extremes, or means over segments of equally many points.

    Gaps are NaN, and excluded from means. The whole curve is decimated piece by piece, and the points of
    pieces that will not change are kept, so that the cost does not grow with the run.
    """
    full_range = not request.outliers and request.start is None and request.end is None
    pieces = [] if full_range else columns.pieces(request.metric)
    usual = usual_range(pieces) if request.outliers else None
    view = _view(pieces, request, columns.count(request.metric))
    # Powers of two, which seldom change as a run grows. A piece keeps more points than are drawn of it.
    length = _power_of_two(view.points // max_points)
    limit = max(MIN_POINTS, _power_of_two(2 * max_points * CHUNK_ROWS // max(1, view.points)))

    def decimated(piece: Piece) -> Points:
        x, y = _curve(piece, request.x)
        low, high = (x[0], x[-1]) if len(x) else (math.inf, -math.inf)
        if not full_range:
            part = slice(np.searchsorted(x, view.first, "left"), np.searchsorted(x, view.last, "right"))
            x, y = x[part], y[part]
        if usual is not None:
            keep = ~((y < usual[0]) | (y > usual[1]))
            x, y = x[keep], y[keep]
        return Points(averages((x, y), length) if averaged else _thinned((x, y), limit), low, high)

    key = (request.x, averaged, length if averaged else limit)
    parts = columns.reduced(request.metric, decimated, key) if full_range else [*map(decimated, pieces)]
    # Copies, which do not keep a file mapped.
    x, y = (np.concatenate([np.empty(0), *(part.curve[side] for part in parts)]) for side in (0, 1))
    curve = _sorted((x, y))
    curve = averages(curve, math.ceil(len(x) / max_points)) if averaged else _thinned(curve, max_points)
    low = min((part.low for part in parts), default=math.inf)
    return Points(curve, float(low), float(max((part.high for part in parts), default=-math.inf)))


def read_interval(columns: RunColumns, request: CurveRequest, curve: Curve) -> tuple[Floats, Floats] | None:
    """Return the bounds of the points of ``curve``, such as ``evaluation/return_low`` and ``_high`` of
    ``evaluation/return``; None for metrics without both of them at each point."""
    bounds = []
    for end in ("_low", "_high"):
        bound = structs.replace(request, metric=request.metric + end)
        if not columns.count(bound.metric):
            return None
        x, y = read_points(columns, bound, len(curve[0]), averaged=False).curve
        if not np.array_equal(x, curve[0]):
            return None
        bounds.append(y)
    return bounds[0], bounds[1]


def points_in_view(columns: RunColumns, request: CurveRequest) -> Iterator[tuple[Steps, Floats, Floats]]:
    """Yield all points from ``request.start`` to ``request.end`` unchanged: step, Unix time, value."""
    first = -math.inf if request.start is None else request.start
    last = math.inf if request.end is None else request.end
    for piece in columns.pieces(request.metric):
        step, time, value = piece.step.astype(np.int64), piece.time, piece.value
        if (request.start, request.end) != (None, None):
            x = x_values(piece, request.x)
            visible = (first <= x) & (x <= last)
            step, time, value = step[visible], time[visible], value[visible]
        yield step, time, value


def usual_range(pieces: Sequence[Piece]) -> tuple[float, float] | None:
    """Return the range outside which a metric's values are outliers; None if there are no outliers.

    It spans the 2.5th to the 97.5th percentile, extended on both sides by the distance between them. The
    percentiles are taken over at most 4,096 evenly spaced values of the run. If they are equal (a metric that
    hardly ever changes), no value is an outlier.
    """
    stride = math.ceil(sum(len(piece.value) for piece in pieces) / SAMPLE) or 1
    sample = np.concatenate([piece.value[::stride] for piece in pieces] or [np.empty(0)])
    sample = sample[np.isfinite(sample)]
    if not len(sample):
        return None
    low, high = np.percentile(sample, CENTRE)
    width = float(high - low)
    return (float(low) - width, float(high) + width) if width > 0 else None


class _View(NamedTuple):
    """The x range of the visible part of a curve, and a lower bound on its number of points."""

    first: float
    last: float
    points: int


def _view(pieces: Sequence[Piece], request: CurveRequest, total: int) -> _View:
    """Return the visible part of ``total`` points, with the next point beyond either side."""
    if request.start is None and request.end is None:
        return _View(-math.inf, math.inf, total)
    begin = -math.inf if request.start is None else request.start
    end = math.inf if request.end is None else request.end
    points, before_x, after_x = 2, [-math.inf], [math.inf]
    for piece in pieces:
        x, _ = _curve(piece, request.x)
        bounds = np.searchsorted(x, begin, "left"), np.searchsorted(x, end, "right")
        points += int(bounds[1] - bounds[0])
        before_x += x[: bounds[0]][-1:].tolist()
        after_x += x[bounds[1] :][:1].tolist()
    return _View(max(before_x), min(after_x), points)


def _curve(piece: Piece, axis: str) -> Curve:
    """Return a piece's points with non-decreasing x; points without a position on the axis are omitted."""
    x, y = x_values(piece, axis), piece.value
    if axis == "time" and (unknown := np.isnan(x)).any():
        x, y = x[~unknown], y[~unknown]
    finite = np.isfinite(y)
    return _sorted((x, y if finite.all() else np.where(finite, y, np.nan)))


def x_values(piece: Piece, axis: str) -> Floats:
    """Return the positions of the points on an axis."""
    values: Floats = getattr(piece, "seconds" if axis == "relative" else axis)
    return values


def _sorted(curve: Curve) -> Curve:
    x, y = curve
    if np.any(x[1:] < x[:-1]):
        order = np.argsort(x, kind="stable")
        return x[order], y[order]
    return curve


def _thinned(curve: Curve, max_points: int) -> Curve:
    if len(curve[0]) <= max_points:
        return curve
    indices = thin(*curve, max_points)
    return curve[0][indices], curve[1][indices]


def averages(curve: Curve, length: int) -> Curve:
    """Return the means over segments of ``length`` points, ignoring gaps; the last segment may be shorter."""
    x, y = curve
    finite = np.isfinite(y)
    if not finite.all():
        x, y = x[finite], y[finite]
    if length <= 1 or not len(y):
        return x, y
    begins = np.arange(0, len(y), length)
    counts = np.diff(begins, append=len(y))
    return np.add.reduceat(x, begins) / counts, np.add.reduceat(y, begins) / counts


def thin(x: Floats, y: Floats, limit: int) -> NDArray[np.intp]:
    """Return the indices of at most ``limit`` points (8 or more) that look like all of them when drawn: each
    interval of x keeps its extremes.

    ``x`` (float64[n]) must be nondecreasing. NaN in ``y`` (float64[n]) is a gap; gaps get at most a quarter
    of the points.
    """
    missing = np.isnan(y)
    if not missing.any():
        max_extremes = max(2, (limit - 2) // 2 * 2)
        indices = _extremes(x, y, max_extremes) if len(y) > max_extremes else np.arange(len(y))
        return np.unique(np.concatenate([[0], indices, [len(y) - 1]]).astype(np.intp))
    gaps = np.flatnonzero(missing & ~np.concatenate([[False], missing[:-1]]))
    if len(gaps) > limit // 4:
        gaps = gaps[np.linspace(0, len(gaps) - 1, limit // 4).astype(np.intp)]
    finite = np.flatnonzero(~missing)
    max_extremes = max(2, (limit - len(gaps) - 2) // 2 * 2)
    if len(finite) > max_extremes:
        finite = finite[_extremes(x[finite], y[finite], max_extremes)]
    return np.unique(np.concatenate([[0], finite, gaps, [len(y) - 1]]).astype(np.intp))


def _extremes(x: Floats, y: Floats, count: int) -> NDArray[np.intp]:
    x = x - x[0]  # large offsets would reduce the precision of the bin edges
    # If x is constant (no episode has ended yet), bin by index instead of x.
    indices: NDArray[np.uint64] = _MIN_MAX.downsample(*((x, y) if x[-1] > 0 else (y,)), n_out=count)
    return indices.astype(np.intp)


def _power_of_two(number: int) -> int:
    """Return the largest power of two up to ``number``, at least 1."""
    return 1 << max(0, number.bit_length() - 1)


def stage_positions(run: Run, columns: RunColumns, axis: str) -> tuple[MarkPosition, ...]:
    """Return the positions of a curriculum's stages on an axis, with their labels; empty for other runs."""
    marks = stage_marks(run)
    positions = step_positions(columns, [step for step, _ in marks])
    labelled = [(position[axis], label) for position, (_, label) in zip(positions, marks, strict=True)]
    return tuple(MarkPosition(x, label) for x, label in labelled if x is not None)


def step_positions(columns: RunColumns | None, steps: Sequence[int]) -> list[dict[str, float | None]]:
    """Return the x of the run's curve at each step, by axis; None if the curve has no such x.

    On the axis of steps this is the step itself; on the others it is the x of the nearest point of the
    default metric.
    """
    positions: list[dict[str, float | None]] = [{**dict.fromkeys(AXES), "step": step} for step in steps]
    metric = default_metric(columns.names) if columns and steps else None
    if columns is None or metric is None:
        return positions

    def nearest(piece: Piece) -> list[tuple[float, Piece, int]]:
        """Return for each step its distance to the nearest point, and this point."""
        distances = [np.abs(piece.step - step) for step in steps]
        return [(float(from_step.min()), piece, int(from_step.argmin())) for from_step in distances]

    nearest_by_piece = columns.reduced(metric, nearest, ("nearest", *steps))
    for position, candidates in zip(positions, zip(*nearest_by_piece, strict=True), strict=False):
        _, piece, point = min(candidates, key=lambda candidate: candidate[0])
        for axis in ("episode", "time", "relative"):
            x = x_values(piece, axis)[point]
            position[axis] = float(x) if math.isfinite(x) else None
    return positions
