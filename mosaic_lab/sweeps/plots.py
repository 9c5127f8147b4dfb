"""The plots of a sweep: trial history, learning curves and parameters. Their cost depends on the trials'
reports, at most 27 each, not on the size of their telemetry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from mosaic_lab.evaluation.reports.plot import NEUTRAL, Facet, Plot, PlotMark, Points
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.population_plots import population_plots
from mosaic_lab.sweeps.space import Choice
from mosaic_lab.sweeps.trials import Trial, TrialState

MAX_SLICES = 4
"""Maximum number of parameters with their own facet: the most important ones, if known."""
PARALLEL_SPACING = 2.0
WIDE = 100
"""The ratio of the largest to the smallest number of a choice from which its axis is logarithmic."""
TRIAL, BEST = 0, 1
"""Indices of colours."""
_COLORS = {
    TrialState.PRUNED: NEUTRAL,
    TrialState.COMPLETED: TRIAL,
    TrialState.RUNNING: 2,
    TrialState.FAILED: 4,
}
"""Colours of the trials' learning curves by state, except the best trial's."""


def sweep_plots(plan: SweepPlan, trials: Sequence[Trial], importance: Mapping[str, float]) -> list[Plot]:
    """Return the plots of a sweep, empty before the first value. ``importance``: see `Sweep.importance`."""
    if plan.request.interval is not None:
        return population_plots(plan, trials)
    ended = [trial for trial in trials if trial.value is not None and trial.state in _SCORED_STATES]
    completed = [trial for trial in ended if trial.state is TrialState.COMPLETED]
    if not ended:
        return []
    better = max if plan.request.mode == "max" else min
    best = better(completed, key=lambda trial: trial.value or 0.0, default=None)
    params = dict.fromkeys([*plan.space.parameters, *(name for trial in trials for name in trial.parameters)])
    names = sorted(params, key=lambda name: -importance.get(name, 0.0))
    plots = [
        Plot(
            "Trials",
            _TRIALS_NOTE,
            (_history(plan, ended, best), _curves(plan, trials, best)),
            plan.request.seed,
        )
    ]
    if names:
        slices = tuple(_slice(plan, name, ended, best) for name in names[:MAX_SLICES])
        left_out = f"; {MAX_SLICES} of {len(names)} are drawn" if len(names) > MAX_SLICES else ""
        note = _SLICES_NOTE + left_out
        plots.append(Plot("Parameters", note, slices, plan.request.seed, has_legend=False))
    varied = [name for name in names if _values(name, completed) > 1]
    if len(varied) > 1:
        facets = [_parallel(plan, varied, ended, best)]
        if importance:
            facets.append(_importance(importance))
        plots.append(Plot("Combinations", _PARALLEL_NOTE, tuple(facets), plan.request.seed))
    return plots


_SCORED_STATES = (TrialState.COMPLETED, TrialState.PRUNED)
_TRIALS_NOTE = "A pruned trial has the value it had when it was stopped"
_SLICES_NOTE = "Each trial against one parameter"
_PARALLEL_NOTE = (
    "One line per completed trial, one row per parameter, from its lowest value (left) to its highest. Blue: "
    "the best quarter; orange: the best. Importance: the share of the variance that a parameter explains"
)


def _history(plan: SweepPlan, ended: Sequence[Trial], best: Trial | None) -> Facet:
    completed = [trial for trial in ended if trial.state is TrialState.COMPLETED]
    points = partial(_points, position=lambda trial: trial.number)
    marks = _scattered(ended, best, points)
    if best is not None:
        running = np.maximum if plan.request.mode == "max" else np.minimum
        values = np.array([trial.value for trial in completed], np.float64)
        numbers = np.array([trial.number for trial in completed], np.float64)
        last = float(ended[-1].number)
        steps = np.repeat(running.accumulate(values), 2)
        x = np.append(np.repeat(numbers, 2)[1:], last)
        marks.append(PlotMark("best", BEST, line=(x, steps), points=points([best])))
    return Facet(plan.metric, "trial", tuple(mark for mark in marks if _has_data(mark)))


def _curves(plan: SweepPlan, trials: Sequence[Trial], best: Trial | None) -> Facet:
    def curves(chosen: Sequence[Trial]) -> tuple[Points, ...]:
        return tuple(_curve(plan, trial) for trial in chosen if trial.reports)

    remaining = [trial for trial in trials if trial is not best]
    marks = [
        PlotMark(str(state), state_color, thin=curves([trial for trial in remaining if trial.state is state]))
        for state, state_color in _COLORS.items()
    ]
    if best is not None and best.reports:
        marks.append(PlotMark("best", BEST, line=_curve(plan, best)))
    return Facet("Learning curves", "steps", tuple(mark for mark in marks if _has_data(mark)))


def _curve(plan: SweepPlan, trial: Trial) -> Points:
    reports = trial.reports
    if trial.state is TrialState.COMPLETED and trial.value is not None:
        end = plan.trained(trial)  # the reports after the last whole update repeat its value
        reports = {**{step: value for step, value in reports.items() if step < end}, end: trial.value}
    steps = sorted(reports)
    return np.array(steps, np.float64), np.array([reports[step] for step in steps], np.float64)


def _slice(plan: SweepPlan, name: str, ended: Sequence[Trial], best: Trial | None) -> Facet:
    with_it = [trial for trial in ended if name in trial.parameters]
    position, label, rows = _axis(plan, name, with_it)

    def points(subset: Sequence[Trial]) -> Points:
        x, y = _points(subset, lambda trial: position(trial.parameters[name]))
        return (y, x) if rows else (x, y)

    chosen = points([trial for trial in with_it if trial is best])
    marks = [*_scattered(with_it, best, points), PlotMark("best", BEST, points=chosen)]
    return Facet(name, plan.metric if rows else label, tuple(mark for mark in marks if _has_data(mark)), rows)


def _scattered(
    ended: Sequence[Trial], best: Trial | None, points: Callable[[Sequence[Trial]], Points]
) -> list[PlotMark]:
    """Return the marks of pruned and of completed trials, without the best one's."""
    pruned = [trial for trial in ended if trial.state is TrialState.PRUNED]
    remaining = [trial for trial in ended if trial.state is TrialState.COMPLETED and trial is not best]
    return [
        PlotMark("pruned", NEUTRAL, points=points(pruned)),
        PlotMark("completed", TRIAL, points=points(remaining)),
    ]


def _parallel(plan: SweepPlan, names: Sequence[str], ended: Sequence[Trial], best: Trial | None) -> Facet:
    completed = [trial for trial in ended if trial.state is TrialState.COMPLETED]
    columns = []
    for name in names:
        with_it = [trial for trial in completed if name in trial.parameters]
        position, _, _ = _axis(plan, name, with_it)
        columns.append({trial.number: position(trial.parameters[name]) for trial in with_it})
    columns.append({trial.number: trial.value or 0.0 for trial in completed})

    def line(trial: Trial) -> Points:
        crossings = [(row, column) for row, column in enumerate(columns) if trial.number in column]
        x = [_share(column[trial.number], column.values()) for _, column in crossings]
        return np.array(x), np.array([row for row, _ in crossings], dtype=np.float64)

    ranked = sorted(completed, key=lambda trial: trial.value or 0.0, reverse=plan.request.mode == "max")
    top = ranked[: max(1, len(ranked) // 4)]
    marks = [
        PlotMark("others", NEUTRAL, thin=tuple(line(trial) for trial in ranked[len(top) :])),
        PlotMark("best quarter", TRIAL, thin=tuple(line(trial) for trial in top if trial is not best)),
    ]
    if best is not None:
        marks.append(PlotMark("best", BEST, line=line(best)))
    visible = tuple(mark for mark in marks if _has_data(mark))
    rows = (*names, plan.metric)
    return Facet("Parallel coordinates", "least to greatest", visible, rows, PARALLEL_SPACING)


def _importance(importance: Mapping[str, float]) -> Facet:
    marks = tuple(
        PlotMark(
            name,
            TRIAL,
            line=(np.array([0.0, share]), np.full(2, float(row))),
            points=(np.array([share]), np.array([float(row)])),
        )
        for row, (name, share) in enumerate(importance.items())
    )
    return Facet("Importance", "share", marks, tuple(importance), PARALLEL_SPACING)


def _axis(
    plan: SweepPlan, name: str, trials: Sequence[Trial]
) -> tuple[Callable[[Any], float], str, tuple[str, ...]]:
    """Return a function that maps a parameter's values to axis positions, the axis label, and the row names
    if the parameter has values other than numbers."""
    values = [trial.parameters[name] for trial in trials]
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    distribution = plan.space.parameters.get(name)
    if not numeric:
        choices = distribution.values if isinstance(distribution, Choice) else dict.fromkeys(values)
        row_of = {repr(value): float(row) for row, value in enumerate(choices)}
        return lambda value: row_of[repr(value)], name, tuple(str(value) for value in choices)
    if isinstance(distribution, Choice):
        log = min(values) > 0 and max(values) >= WIDE * min(values)
    else:
        log = bool(trials) and all(trial.distributions.get(name, {}).get("log") for trial in trials)
    if log:
        return lambda value: math.log10(value), f"log10 {name}", ()
    return float, name, ()


def _values(name: str, trials: Sequence[Trial]) -> int:
    """Return the number of distinct values of a parameter."""
    return len({repr(trial.parameters[name]) for trial in trials if name in trial.parameters})


def _points(trials: Sequence[Trial], position: Callable[[Trial], float]) -> Points:
    values = np.array([trial.value for trial in trials], np.float64)
    return np.array([position(trial) for trial in trials], np.float64), values


def _share(value: float, all_values: Any) -> float:
    """Return the position of a value between the minimum (0) and the maximum (1)."""
    low, high = min(all_values), max(all_values)
    return (value - low) / (high - low) if high > low else 0.5


def _has_data(mark: PlotMark) -> bool:
    return bool(mark.thin) or mark.line is not None or (mark.points is not None and len(mark.points[0]) > 0)
