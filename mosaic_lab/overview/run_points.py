"""The points of one run's metric for a chart: in view, without outliers, few enough to draw.

`step_places` maps steps of the run, such as those of its films, to the chart's x axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mosaic_lab.chart_marks import Place
from mosaic_lab.overview.averages import Curve, Floats, averages
from mosaic_lab.overview.curve_model import AXES, CurveRequest
from mosaic_lab.runs import Run
from mosaic_lab.runs.curriculum import stage_marks
from mosaic_lab.telemetry.column_chunks import Piece
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metric_names import default_metric
from mosaic_lab.telemetry.series import thin

Steps = NDArray[np.int64]
SAMPLE = 4096
"""Number of values sampled to detect outliers."""
CENTRE = (2.5, 97.5)
"""Percentiles that enclose the central values."""


@dataclass(frozen=True, eq=False)
class Points:
    """A curve, and the minimum and maximum x of all points, in view or not."""

    curve: Curve
    low: float
    high: float


def read_points(columns: RunColumns, request: CurveRequest, most: int, averaged: bool) -> Points:
    """Return at most ``most`` points of a run: its extremes, or means over segments of equally many points.

    Gaps are NaN, and excluded from means.
    """
    pieces = columns.pieces(request.metric)
    usual = usual_range(pieces) if request.outliers else None
    view = _view(pieces, request, columns.start)
    low, high = math.inf, -math.inf
    parts = []
    for x, y in _curves(pieces, request.x, columns.start):
        low, high = min(low, x[0]), max(high, x[-1])
        part = _cut((x, y), view)
        if usual is not None:
            keep = ~((part[1] < usual[0]) | (part[1] > usual[1]))
            part = (part[0][keep], part[1][keep])
        if averaged and len(part[0]):
            stretches = max(1, most * len(part[0]) // view.points)
            part = averages(part, math.ceil(len(part[0]) / stretches))
        elif len(part[0]) > most:
            part = _thinned(part, most)
        parts.append(part)
    empty = np.empty(0)
    # Copies, which do not keep a file mapped.
    x, y = np.concatenate([empty, *(x for x, _ in parts)]), np.concatenate([empty, *(y for _, y in parts)])
    curve = _sorted((x, y))
    if averaged:
        curve = averages(curve, math.ceil(len(x) / most))
    elif len(x) > most:
        curve = _thinned(curve, most)
    return Points(curve, float(low), float(high))


def points_in_view(columns: RunColumns, request: CurveRequest) -> Iterator[tuple[Steps, Floats, Floats]]:
    """Yield all points from ``request.start`` to ``request.end`` unchanged: step, Unix time, value."""
    first = -math.inf if request.start is None else request.start
    last = math.inf if request.end is None else request.end
    for piece in columns.pieces(request.metric):
        step, at, value = piece.step.astype(np.int64), piece.time, piece.value
        if (request.start, request.end) != (None, None):
            x = x_values(piece, request.x, columns.start)
            inside = (first <= x) & (x <= last)
            step, at, value = step[inside], at[inside], value[inside]
        yield step, at, value


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


def _view(pieces: Sequence[Piece], request: CurveRequest, start: float | None) -> _View:
    """Return the visible part, with the next point beyond either side."""
    if request.start is None and request.end is None:
        return _View(-math.inf, math.inf, sum(len(piece.value) for piece in pieces))
    begin = -math.inf if request.start is None else request.start
    end = math.inf if request.end is None else request.end
    points, before, after = 2, [-math.inf], [math.inf]
    for x, _ in _curves(pieces, request.x, start):
        inside = np.searchsorted(x, begin, "left"), np.searchsorted(x, end, "right")
        points += int(inside[1] - inside[0])
        before += x[: inside[0]][-1:].tolist()
        after += x[inside[1] :][:1].tolist()
    return _View(max(before), min(after), points)


def _curves(pieces: Sequence[Piece], axis: str, start: float | None) -> Iterator[Curve]:
    """Yield the points of each piece with non-decreasing x; points without a position on the axis are
    omitted."""
    for piece in pieces:
        x, y = x_values(piece, axis, start), piece.value
        if axis in ("time", "relative") and (unknown := np.isnan(x)).any():
            x, y = x[~unknown], y[~unknown]
        if len(x):
            finite = np.isfinite(y)
            yield _sorted((x, y if finite.all() else np.where(finite, y, np.nan)))


def x_values(piece: Piece, axis: str, start: float | None) -> Floats:
    """Return the positions of the points on an axis; ``start`` is the Unix time of the run's first line."""
    if axis == "step":
        return piece.step
    if axis == "episode":
        return piece.episode
    return piece.time if axis == "time" else np.maximum(piece.time - (start or 0.0), 0.0)


def _cut(curve: Curve, view: _View) -> Curve:
    x, y = curve
    part = slice(np.searchsorted(x, view.first, "left"), np.searchsorted(x, view.last, "right"))
    return x[part], y[part]


def _sorted(curve: Curve) -> Curve:
    x, y = curve
    if np.any(x[1:] < x[:-1]):
        order = np.argsort(x, kind="stable")
        return x[order], y[order]
    return curve


def _thinned(curve: Curve, most: int) -> Curve:
    kept = thin(*curve, most)
    return curve[0][kept], curve[1][kept]


def stage_places(run: Run, columns: RunColumns, axis: str) -> tuple[Place, ...]:
    """Return the positions of a curriculum's stages on an axis, with their labels; empty for other runs."""
    marks = stage_marks(run)
    places = step_places(columns, [step for step, _ in marks])
    found = [(place[axis], label) for place, (_, label) in zip(places, marks, strict=True)]
    return tuple(Place(x, label) for x, label in found if x is not None)


def step_places(columns: RunColumns | None, steps: Sequence[int]) -> list[dict[str, float | None]]:
    """Return the x of the run's curve at each step, by axis; None if the curve has no such x.

    On the axis of steps this is the step itself; on the others it is the x of the nearest point of the
    default metric.
    """
    places: list[dict[str, float | None]] = [dict.fromkeys(AXES) for _ in steps]
    metric = default_metric(columns.names) if columns else None
    if columns and metric and (pieces := columns.pieces(metric)):
        known = np.concatenate([piece.step for piece in pieces])
        nearest = [int(np.abs(known - step).argmin()) for step in steps]
        for axis in AXES:
            x = np.concatenate([x_values(piece, axis, columns.start) for piece in pieces])
            for place, point in zip(places, nearest, strict=True):
                place[axis] = float(x[point]) if math.isfinite(x[point]) else None
    return [{**place, "step": step} for place, step in zip(places, steps, strict=True)]
