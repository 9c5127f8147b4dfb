"""The plots of a population: lineage, resulting values and hyperparameter schedules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mosaic_lab.evaluation.reports.plot import NEUTRAL, Facet, Plot, PlotMark, Points
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.segments import lineage
from mosaic_lab.sweeps.space import Choice
from mosaic_lab.sweeps.trials import Trial, TrialSegment

MEMBER, BEST = 0, 1
"""Indices of colours."""
MAX_SCHEDULES = 4
"""Maximum number of hyperparameters with their own facet."""
RAMP = ((59, 111, 216), (138, 99, 201), (201, 89, 155), (226, 105, 79), (214, 150, 40))
"""Colours from worst to best, as in the page's parallel coordinates."""
PATH = "ancestry of the best"
REACH = 0.35
"""Share of a segment over which the line to a copying member is drawn."""
_NOTE = (
    "One line per segment, from blue for the worst value of all members at its end to yellow for the best; a "
    "grey line leads from a checkpoint to the member that copied it. Orange: the ancestry of the best member"
)
_SCHEDULE_NOTE = "The values each member trained with; orange: the ancestry of the best"


def population_plots(plan: SweepPlan, trials: Sequence[Trial]) -> list[Plot]:
    """Return the plots of a population; empty before the first segment has ended."""
    if not any(trial.reports for trial in trials):
        return []
    names = [*plan.space.parameters][:MAX_SCHEDULES]
    left_out = len(plan.space.parameters) - len(names)
    note = _SCHEDULE_NOTE + (f"; {left_out} more are not drawn" if left_out else "")
    ancestors = _ancestors(plan, trials)
    schedules = tuple(_schedule(plan, name, trials, ancestors) for name in names)
    return [
        lineage_plot(plan, trials),
        Plot("Schedules", note, schedules, plan.request.seed, has_legend=False),
    ]


def lineage_plot(plan: SweepPlan, trials: Sequence[Trial]) -> Plot:
    """Return the plot of copies between members, with the values at the ends of segments."""
    return Plot("Lineage", _NOTE, (_lineage(plan, trials), _values(plan, trials)), plan.request.seed)


def _lineage(plan: SweepPlan, trials: Sequence[Trial]) -> Facet:
    path = _ancestors(plan, trials)
    copying, ended = [], []
    for trial, segment in _all(trials):
        start, stop, row = _start(plan, segment), float(segment.stop), float(trial.number)
        if (source := segment.source) is not None and source.trial != trial.number:
            begin, start = start, start + REACH * (stop - start)
            style = (PATH, BEST) if (trial.number, segment) in path else ("copied", NEUTRAL)
            copying.append(PlotMark(*style, line=_line([(begin, float(source.trial)), (start, row)])))
        if segment.value is not None:
            colour = _ramp(_share(trials, segment, plan.request.mode == "max"))
            ended.append(PlotMark("", colour, line=_line([(start, row), (stop, row)])))
    path_points = [(float(segment.stop), float(number)) for number, segment in path]
    marks = [*copying, *ended, *([PlotMark(PATH, BEST, points=_line(path_points))] if path_points else [])]
    return Facet("Lineage", "steps", tuple(marks), tuple(f"member {trial.number}" for trial in trials))


def _share(trials: Sequence[Trial], segment: TrialSegment, maximize: bool) -> float:
    """Return the position of a segment's value between the worst (0) and the best (1) at its end."""
    values = [trial.reports[segment.stop] for trial in trials if segment.stop in trial.reports]
    low, high = min(values), max(values)
    share = ((segment.value or 0.0) - low) / (high - low) if high > low else 0.5
    return share if maximize else 1 - share


def _values(plan: SweepPlan, trials: Sequence[Trial]) -> Facet:
    tracks = [_track(plan, trials, segment) for _, segment in _all(trials) if segment.source is not None]
    pairs = [(float(segment.stop), segment.value) for _, segment in _all(trials) if segment.value is not None]
    thin = tuple(track for track in tracks if len(track[0]) == 2)
    marks = [PlotMark("members", MEMBER, points=_line(pairs), thin=thin)]
    path = [
        (float(segment.stop), segment.value)
        for _, segment in _ancestors(plan, trials)
        if segment.value is not None
    ]
    if path:
        marks.append(PlotMark(PATH, BEST, line=_line(path), points=_line(path)))
    return Facet(plan.metric, "steps", tuple(marks))


def _track(plan: SweepPlan, trials: Sequence[Trial], segment: TrialSegment) -> Points:
    """Return the line from a segment's initial value to its final value."""
    assert segment.source is not None
    before = trials[segment.source.trial].segment(segment.source.place)
    points = [(end.stop, end.value) for end in (before, segment) if end is not None and end.value is not None]
    return _line([(float(stop), value) for stop, value in points])


def _schedule(
    plan: SweepPlan, name: str, trials: Sequence[Trial], ancestors: Sequence[tuple[int, TrialSegment]]
) -> Facet:
    distribution = plan.space.parameters[name]
    rows = tuple(map(str, distribution.values)) if isinstance(distribution, Choice) else ()
    log = not isinstance(distribution, Choice) and distribution.log

    def y_of(segment: TrialSegment) -> float:
        value: Any = segment.parameters[name]
        if isinstance(distribution, Choice):
            return float([repr(choice) for choice in distribution.values].index(repr(value)))
        return math.log10(value) if log else float(value)

    def steps(segments: Sequence[TrialSegment]) -> Points:
        return _line(
            [(x, y_of(segment)) for segment in segments for x in (_start(plan, segment), float(segment.stop))]
        )

    marks = [
        PlotMark("members", MEMBER, thin=tuple(steps(trial.schedule) for trial in trials if trial.schedule))
    ]
    if ancestors:
        line = steps([segment for _, segment in ancestors])
        marks.append(PlotMark(PATH, BEST, line=line))
    return Facet(f"log10 {name}" if log else name, "steps", tuple(marks), rows)


def _ancestors(plan: SweepPlan, trials: Sequence[Trial]) -> list[tuple[int, TrialSegment]]:
    """Return the lineage of the best member at the last step that any member has reached."""
    last = max((max(trial.reports) for trial in trials if trial.reports), default=0)
    reached = [trial for trial in trials if last in trial.reports]
    better = max if plan.request.mode == "max" else min
    best = better(reached, key=lambda trial: trial.reports[last], default=None)
    path = [] if best is None else lineage(trials, best)
    return [(number, segment) for number, segment in path if segment.stop <= last]


def _all(trials: Sequence[Trial]) -> Iterator[tuple[Trial, TrialSegment]]:
    return ((trial, segment) for trial in trials for segment in trial.schedule)


def _start(plan: SweepPlan, segment: TrialSegment) -> float:
    return float(plan.stops[segment.place - 1]) if segment.place else 0.0


def _line(coordinates: Sequence[tuple[float, float]]) -> Points:
    points = np.array(coordinates, np.float64).reshape(-1, 2)
    return points[:, 0], points[:, 1]


def _ramp(share: float) -> str:
    x = min(max(share, 0.0), 1.0) * (len(RAMP) - 1)
    first = min(int(x), len(RAMP) - 2)
    mixed = (round(a + (x - first) * (b - a)) for a, b in zip(RAMP[first], RAMP[first + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
