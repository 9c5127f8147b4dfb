"""Curves of any number of runs for drawing: the visible part, at the resolution of the chart.

Runs with equal settings can be grouped: the mean of each group is a line with its interval.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from mosaic_lab.chart_style import MarkPosition, mean_positions
from mosaic_lab.number_format import setting_text
from mosaic_lab.overview.column_pool import READ_SECONDS, ColumnPool, Reading
from mosaic_lab.overview.curve_model import MIN_POINTS, Curve, CurveLine, CurveRequest, Curves, Floats
from mosaic_lab.overview.run_points import Points, read_interval, read_points, stage_positions
from mosaic_lab.runs import Run
from mosaic_lab.runs.run_labels import distinct_names, group_label
from mosaic_lab.telemetry.metrics import charted
from mosaic_lab.text_table import shortened

if TYPE_CHECKING:
    from mosaic_lab.evaluation.statistics.curves import LearningCurve

__all__ = ["CurveLine", "CurveRequest", "Curves", "curves", "metric_names"]

ALL_POINTS = 120_000
"""Maximum number of points of all lines of a chart: 600 each for 200 runs."""
GRID_POINTS = 200
"""Number of points of a mean over runs."""
X_LABELS = {"step": "steps", "episode": "episodes", "time": "time", "relative": "seconds since the start"}
SEPARATE_SETTINGS = ("worker", "algorithm", "env")
"""Settings that always separate groups."""
EARLY_END_FRACTION = 0.9
"""A run that ended before this fraction of the longest one shortens their mean considerably."""
MAX_LABEL_LETTERS = 40
"""Maximum length of a setting's value in a label."""


def metric_names(runs: Sequence[Run], pool: ColumnPool) -> list[str]:
    """Return the metrics of all runs that charts can show, in the usual order, the default one first."""
    columns_by_run = pool.columns(runs, Reading())
    return charted(name for _, columns in columns_by_run for name in columns.names)


def curves(
    runs: Sequence[Run], request: CurveRequest, pool: ColumnPool, seconds: float = READ_SECONDS
) -> Curves:
    """Return the lines of a chart, one per run or one per group; parsing takes at most about ``seconds``.

    A line has at most ``request.points`` points, fewer if the total would exceed 120,000. A line's points are
    points of the run's file, including the extremes, unless the line is smoothed or grouped: these start from
    averages over segments of equally many points.
    """
    max_points = max(MIN_POINTS, min(request.points, ALL_POINTS // max(1, len(runs))))
    averaged = bool(request.smoothing) or request.group_by is not None
    if request.group_by is not None:
        # As coarse as the grid, because an interval over episodes would show their noise, not the runs'.
        # Computed over the whole axis, because a mean must not depend on the visible range.
        max_points = min(max_points, GRID_POINTS)
        drawn_request = structs.replace(request, start=None, end=None)
    else:
        drawn_request = request
    reading = Reading()
    plotted: list[tuple[Run, Points, tuple[Floats, Floats] | None, tuple[MarkPosition, ...]]] = []
    for run, columns in pool.columns(runs, reading, seconds):
        points = read_points(columns, drawn_request, max_points, averaged)
        if len(points.curve[0]):
            interval = None if averaged else read_interval(columns, request, points.curve)
            plotted.append((run, points, interval, stage_positions(run, columns, request.x)))
    result = Curves(X_LABELS[request.x], read=reading.fraction, notes=reading.problems)
    if not plotted:
        return result
    result.range = (
        min(points.low for _, points, *_ in plotted),
        max(points.high for _, points, *_ in plotted),
    )
    runs = [run for run, *_ in plotted]
    for (run, points, interval, marks), label in zip(plotted, distinct_names(runs), strict=True):
        x, y = points.curve[0], smooth(points.curve[1], request.smoothing)
        low, high = interval or (None, None)
        result.lines.append(CurveLine(run.id, (run.id,), label, x, y, low, high, marks=marks))
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


def setting(run: Run, name: str) -> Any:
    """Return a setting of a run by name; None if the run does not have it.

    Names are looked up first among "worker", "algorithm", "env", "seed", "group" and "total_steps" (the
    trained steps), then among the hyperparameters, then in the rest of the run's configuration.
    """
    common = {
        "worker": run.worker,
        "algorithm": run.config.get("algorithm"),
        "env": run.config.get("env_id"),
        "seed": run.seed,
        "group": None if run.group is None else group_label(run.group),
        "total_steps": run.total_timesteps,
    }
    if name in common:
        return common[name]
    return run.hyperparameters[name] if name in run.hyperparameters else run.config.get(name)


def mean_lines(
    runs: Sequence[Run], curves: Sequence[CurveLine], names: Sequence[str]
) -> tuple[list[CurveLine], list[str]]:
    """Return a line for each group of runs with equal values of the named settings, and notes on the groups.

    Runs of different workers, algorithms or environments are never grouped. ``curves`` are the runs' own. The
    mean and its 95% interval are from `mosaic_lab.evaluation.learning_curve`, over the range in which all
    runs of a group have values. With fewer than five runs, the individual lines replace the interval; without
    such a range, they replace the mean too.
    """
    from mosaic_lab.evaluation.statistics.curves import MIN_RUNS

    names = [*(name for name in SEPARATE_SETTINGS if name not in names and _differ(runs, name)), *names]
    groups: dict[str, list[tuple[Run, CurveLine]]] = {}
    for run, line in zip(runs, curves, strict=True):
        values = [setting(run, name) for name in names]
        groups.setdefault(json.dumps(values, sort_keys=True, default=str), []).append((run, line))
    lines: list[CurveLine] = []
    notes: list[str] = []
    for key, members in groups.items():
        label = _label(members[0][0], names)
        if len(members) == 1:
            lines.append(replace(members[0][1], key=key, label=label or members[0][1].label))
            continue
        mean = mean_over_runs([(line.x, line.y) for _, line in members])
        if mean is None:
            subject = label or "these runs"
            notes.append(
                f"{subject}: no mean, because its {len(members)} runs share no part of the x axis; "
                "each is drawn"
            )
            lines += [replace(line, key=f"{key} {run.id}") for run, line in members]
            continue
        ids = tuple(run.id for run, _ in members)
        parts = [(line.x, line.y) for _, line in members]
        early = ended_early(parts, [run for run, _ in members], [line.label for _, line in members])
        notes += [f"{label}: {note}".removeprefix(": ") for note in early]
        too_few_runs = mean.runs < MIN_RUNS
        label = f"{label} · mean of {mean.runs}".removeprefix(" · ")
        low, high = (None, None) if too_few_runs else (mean.low, mean.high)
        marks = mean_positions([line.marks for _, line in members])
        lines.append(CurveLine(key, ids, label, mean.steps, mean.value, low, high, marks=marks))
        if too_few_runs:
            lines += [replace(line, key=f"{key} {run.id}", thin=key, marks=()) for run, line in members]
    return lines, notes


def smooth(y: Floats, weight: float) -> Floats:
    """Return the exponential moving average with weights ``weight**k``, normalised over the points so far.

    ``weight`` is in [0, 1); 0 returns y itself. NaN stays NaN and does not affect the average.
    """
    if weight <= 0 or not len(y):
        return y
    import pandas as pd  # the import takes a second; a table of runs needs no smoothing

    mean = pd.Series(y).ewm(alpha=1 - weight, ignore_na=True).mean().to_numpy()
    return np.where(np.isnan(y), np.nan, mean)


def mean_over_runs(curves: Sequence[Curve], points: int = GRID_POINTS) -> LearningCurve | None:
    """Return the mean over curves with its 95% interval, over the range where all have values; None if there
    is no such range.

    The interval over runs is defined in `mosaic_lab.evaluation.learning_curve`: a percentile bootstrap over
    runs. Its generator has a fixed seed, so that a redrawn chart shows the same band.
    """
    # Imported here so that charts without a mean do not pay for it.
    from mosaic_lab.evaluation.statistics.curves import learning_curve

    curves = [(x[keep], y[keep]) for x, y in curves if (keep := np.isfinite(y)).any()]
    if not curves or max(x[0] for x, _ in curves) > min(x[-1] for x, _ in curves):
        return None
    return learning_curve(curves, rng=np.random.default_rng(0), points=points)


def ended_early(curves: Sequence[Curve], runs: Sequence[Run], labels: Sequence[str]) -> list[str]:
    """Return a note if a run ended long before the others, because the mean of their curves ends there
    too."""
    last_x = [float(x[-1]) if len(x) else -math.inf for x, _ in curves]
    start = min((float(x[0]) for x, _ in curves if len(x)), default=0.0)
    first = last_x.index(min(last_x))
    if last_x[first] - start >= EARLY_END_FRACTION * (max(last_x) - start) or not runs[first].finished:
        return []
    return [f"the mean ends where {labels[first]} does: it covers only what all runs reached"]


def _differ(runs: Sequence[Run], name: str) -> bool:
    return len({repr(setting(run, name)) for run in runs}) > 1


def _label(run: Run, names: Sequence[str]) -> str:
    """Return the shared settings of the runs, such as ``env=CartPole-v1, gamma=0.9``."""
    return ", ".join(f"{name}={_text(setting(run, name))}" for name in names)


def _text(value: Any) -> str:
    return shortened("none" if value is None else setting_text(value), MAX_LABEL_LETTERS)
