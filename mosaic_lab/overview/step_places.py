"""Where steps of a run, such as those of its films, lie on the x axes of its charts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import get_args

import numpy as np

from mosaic_lab.chart_marks import Place
from mosaic_lab.overview.curve_request import Axis
from mosaic_lab.overview.run_points import x_values
from mosaic_lab.runs import Run
from mosaic_lab.runs.curriculum import stage_marks
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metric_names import default_metric


def stage_places(run: Run, columns: RunColumns, axis: Axis) -> tuple[Place, ...]:
    """Return where the stages of a curriculum begin on an axis, with their labels; none for other runs."""
    marks = stage_marks(run)
    places = step_places(columns, [step for step, _ in marks])
    found = [(place[axis], label) for place, (_, label) in zip(places, marks, strict=True)]
    return tuple(Place(x, label) for x, label in found if x is not None)


def step_places(columns: RunColumns | None, steps: Sequence[int]) -> list[dict[Axis, float | None]]:
    """Return for each step the x of the run's curve there, by axis; None where the curve has no such x.

    That of steps is the step itself, the others those of the nearest point of the metric shown first.
    """
    places: list[dict[Axis, float | None]] = [dict.fromkeys(get_args(Axis)) for _ in steps]
    metric = default_metric(columns.names) if columns else None
    if columns and metric and (pieces := columns.pieces(metric)):
        known = np.concatenate([piece.step for piece in pieces])
        nearest = [int(np.abs(known - step).argmin()) for step in steps]
        for axis in get_args(Axis):
            x = np.concatenate([x_values(piece, axis, columns.start) for piece in pieces])
            for place, point in zip(places, nearest, strict=True):
                place[axis] = float(x[point]) if math.isfinite(x[point]) else None
    return [{**place, "step": step} for place, step in zip(places, steps, strict=True)]
