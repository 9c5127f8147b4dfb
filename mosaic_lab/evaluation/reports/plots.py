"""The plots of an evaluation's results and of a league's ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from mosaic_contract.language.budget import dollars

from mosaic_lab.chart_style import outline
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.reports.plot import (
    NEUTRAL,
    EpisodeOf,
    Facet,
    Plot,
    PlotMark,
    Points,
    ReplayEpisode,
)
from mosaic_lab.evaluation.statistics.averages import AVERAGES
from mosaic_lab.evaluation.statistics.curves import MIN_RUNS, Profile, learning_curve
from mosaic_lab.evaluation.statistics.paired import PairedDifference
from mosaic_lab.evaluation.statistics.resampling import Floats
from mosaic_lab.runs import Run, RunGroup
from mosaic_lab.runs.run_names import find_run, find_runs
from mosaic_lab.validation import checked

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.evaluation.reports.summary_table import Versus

STRETCHES = 50
"""Number of equal parts of a training; a learning curve averages a run's values over each part."""

MAX_POINTS = 500
"""Maximum number of seeds in a paired plot; larger sets are evenly subsampled."""

TICK = np.array([-0.25, 0.25])
"""The ends of a training's tick, in rows relative to its operator's."""

_SUFFIXES = ("", "_low", "_high")  # column suffixes of an estimate
_RATING = ["rating", "rating_low", "rating_high"]  # columns
_RATING_NOTE = "95% bootstrap intervals over games"


def interval_plot(
    table: pd.DataFrame,
    title: str,
    unit: str,
    episodes: Mapping[str, Sequence[Record]] = MappingProxyType({}),
    replay: ReplayEpisode | None = None,
) -> Plot:
    """Return a plot of a table of `mosaic_lab.Evaluation.summary`: one facet per average, one row per
    operator, with value and interval.

    These are the interval estimates of Agarwal et al. 2021. The trainings of an algorithm are faint ticks. A
    click on an average replays the operator's nearest episode in ``episodes``.
    """
    trainings = table.attrs.get("trainings", {})
    rows = tuple(str(label) for label in table.index)
    facets = []
    for name, heading in AVERAGES.items():
        if name not in table or name == "task_median":
            continue
        columns = (table[name + suffix].to_numpy(np.float64) for suffix in _SUFFIXES)
        estimates = zip(rows, *columns, strict=True)
        means, clickable = ({}, {}) if name == "optimality_gap" else (trainings, episodes)
        marks = tuple(
            _interval(label, row, [*means.get(label, {}).values()], numbers, clickable.get(label, ()))
            for row, (label, *numbers) in enumerate(estimates)
        )
        facets.append(Facet(heading, unit, marks, rows))
    return Plot(title, table.attrs["over"], tuple(facets), int(table.attrs["rng"]), replay=replay)


def _interval(
    label: str, row: int, trainings: Sequence[float], numbers: Sequence[float], records: Sequence[Record]
) -> PlotMark:
    value, low, high = numbers
    y = np.full(2, float(row))
    ticks = tuple((np.full(2, mean), y + TICK) for mean in trainings)
    line = (np.array([low, high]), y) if np.isfinite([low, high]).all() else None
    points = (np.array([value]), y[:1]) if np.isfinite(value) else None
    nearest = sorted(records, key=lambda record: abs(record["return"] - value))[:1]
    episodes = tuple(
        EpisodeOf((record["operator"],), record["seed"], record["episode"]) for record in nearest
    )
    return PlotMark(label, row, line=line, points=points, thin=ticks, episodes=episodes)


def cost_plot(table: pd.DataFrame, title: str, unit: str) -> Plot:
    """Return a plot of each operator's mean return against its mean cost of an episode, both from a table of
    `mosaic_lab.Evaluation.summary`, as points with intervals in both directions.

    Operators without language models or known costs are left out and named in the note, which also says so
    if all costs are equal. Raises ConfigurationError if no language model has played.
    """
    if "episode_usd" not in table:
        raise ConfigurationError("no language model has played, so there is no cost to show")
    silent = [str(label) for label, calls in table["exchanges"].items() if not calls]
    columns = [
        table[name + end].to_numpy(np.float64) for name in ("episode_usd", "mean") for end in _SUFFIXES
    ]
    rows = [(str(label), numbers) for label, *numbers in zip(table.index, *columns, strict=True)]
    marks = tuple(
        _cross(label, index, numbers)
        for index, (label, numbers) in enumerate(rows)
        if np.isfinite([numbers[0], numbers[3]]).all()
    )
    left_out = {
        "cost unknown": [label for label, numbers in rows if np.isnan(numbers[0]) and label not in silent],
        "no model called": silent,
    }
    note = str(table.attrs["over"])
    if len(marks) > 1 and not costs_differ(table):
        note += f"; every operator costs {dollars(table['episode_usd'].max())} per episode"
    note += "".join(f"; {why}: {', '.join(labels)}" for why, labels in left_out.items() if labels)
    facet = Facet(f"{unit}, by cost", "US dollars per episode", marks)
    return Plot(title, note, (facet,), int(table.attrs["rng"]))


def costs_differ(table: pd.DataFrame) -> bool:
    """Return whether operators in a table of `mosaic_lab.Evaluation.summary` differ in cost."""
    return "episode_usd" in table and table["episode_usd"].nunique() > 1


def _cross(label: str, color: int, numbers: Sequence[float]) -> PlotMark:
    """Return a point with a horizontal and a vertical interval, drawn as one line through the point."""
    x, x_low, x_high, y, y_low, y_high = numbers
    path = [(x_low, y), (x_high, y), (x, y), (x, y_low), (x, y_high)]
    finite = np.array([point for point in path if np.isfinite(point).all()])
    return PlotMark(label, color, line=(finite[:, 0], finite[:, 1]), points=(np.array([x]), np.array([y])))


def paired_plot(versus: Versus, title: str, replay: ReplayEpisode | None = None) -> Plot:
    """Return a plot of the difference between two operators on each shared seed, in ascending order, with the
    mean, its interval, and zero. A click on a seed replays both operators' episodes side by side.

    Raises ConfigurationError for algorithms, whose trainings have no pairs.
    """
    if not isinstance(versus.difference, PairedDifference):
        raise ConfigurationError(
            f"{versus.first} and {versus.second} are not compared seed by seed, because the trainings of an "
            'algorithm have no pairs: see interval_plot(), or name one training of each, such as "PPO s1"'
        )
    differences = np.array(versus.difference.differences)
    order = np.argsort(differences, kind="stable")
    differences = differences[order]
    sampled = np.unique(np.linspace(0, len(differences) - 1, MAX_POINTS).round().astype(int))
    x_ends = np.array([0.5, len(differences) + 0.5])
    mean = versus.difference.mean
    level, low, high = (np.full(2, number) for number in (mean.value, mean.low, mean.high))
    names = tuple(dict.fromkeys([versus.first, versus.second]))
    episodes = [EpisodeOf(names, int(versus.difference.seeds[index])) for index in order[sampled]]
    marks = (
        PlotMark("no difference", NEUTRAL, line=(x_ends, np.zeros(2))),
        _curve("mean, 95% interval", 1, x_ends, level, low, high),
        PlotMark("one seed", 0, points=(sampled + 1.0, differences[sampled]), episodes=tuple(episodes)),
    )
    wins, ties, losses = (int(np.sum(np.sign(differences) == sign)) for sign in (1, 0, -1))
    note = (
        f"{versus.first} wins on {wins:,} of {len(differences):,} seeds, ties on {ties:,}, loses on "
        f"{losses:,}; mean difference with its 95% bootstrap interval over seeds"
    )
    facet = Facet(f"{versus.first} minus {versus.second}", "seeds, by difference", marks)
    return Plot(title, note, (facet,), versus.rng, replay=replay)


def profile_plot(
    profiles: Mapping[str, Profile], title: str, heading: str, unit: str, note: str, rng: int
) -> Plot:
    """Return a plot of performance profiles: the share of scores above each score (Agarwal et al. 2021)."""
    marks = tuple(
        _curve(label, index, profile.thresholds, profile.share, profile.low, profile.high)
        for index, (label, profile) in enumerate(profiles.items())
    )
    return Plot(title, note, (Facet(heading, unit, marks),), rng)


@checked
def learning_curve_plot(
    groups: Run | str | RunGroup | Mapping[str, Run | str | Sequence[Run | str]],
    *,
    rng: int = 0,
    metric: str = "episode_return",
    average: Literal["mean", "iqm"] = "mean",
) -> Plot:
    """Return the learning curves of training runs: the average over seeds at each step, with its interval.

    ``groups`` is a result of `mosaic_lab.Lab.train`, or {name: result} for one curve each; a run's name may
    stand for the run. A single run is a line without an interval; with fewer than five runs, each is drawn
    beside their average. Every run's values are first averaged over 50 equal parts of its steps, then passed
    to `mosaic_lab.evaluation.learning_curve` (pointwise percentile bootstrap over runs; Agarwal et al. 2021).
    ``rng`` is the seed. Raises ConfigurationError for groups without runs, and runs without the metric.
    """
    if isinstance(groups, RunGroup):
        groups = {groups.name or "runs": groups}
    elif isinstance(groups, Run | str):
        groups = {(run := find_run(groups)).label: run}
    if type(rng) is not int or rng < 0:
        raise ConfigurationError(f"rng={rng!r}: must be an integer ≥ 0, the seed of the resampling")
    if not groups:
        raise ConfigurationError(
            "there are no groups; pass {name: runs}, such as the groups that lab.train returned"
        )
    marks, counts = [], []
    for index, (name, runs) in enumerate(groups.items()):
        curves = [_run_curve(run, metric) for run in find_runs(runs)]
        generator = np.random.default_rng(rng)
        curve = learning_curve(curves, rng=generator, points=STRETCHES, average=average)
        counts.append(curve.runs)
        label = f"{name} ({curve.runs} training{'' if curve.runs == 1 else 's'})"
        mark = _curve(label, index, curve.steps, curve.value, curve.low, curve.high)
        few = 1 < curve.runs < MIN_RUNS
        marks.append(replace(mark, band=None, thin=tuple(curves)) if few else mark)
    name = "mean" if average == "mean" else "interquartile mean"
    note = f"{name} over trainings, 95% pointwise bootstrap intervals"
    if any(mark.thin for mark in marks):
        note += f" (of fewer than {MIN_RUNS} trainings: each training)"
    if any(count == 1 for count in counts):
        note += "; one training says nothing about another training seed"
    return Plot(f"Learning curves: {metric}", note, (Facet(metric, "steps", tuple(marks)),), rng)


def _run_curve(run: Run, metric: str) -> Points:
    """Return a run's values averaged over equal parts of its steps; empty parts are omitted."""
    table = run.metrics(metric)
    table = table[np.isfinite(table["value"])]
    if not len(table):
        raise ConfigurationError(f"run {run.id} has no finite value of {metric!r}")
    steps, values = table["step"].to_numpy(np.float64), table["value"].to_numpy(np.float64)
    edges = np.linspace(steps.min(), steps.max(), STRETCHES + 1)
    part = np.clip(np.searchsorted(edges, steps, "right") - 1, 0, STRETCHES - 1)
    count = np.bincount(part, minlength=STRETCHES)
    sums = (np.bincount(part, weights, minlength=STRETCHES)[count > 0] for weights in (steps, values))
    x, y = (total / count[count > 0] for total in sums)
    return x, y


def _curve(label: str, color: int, x: Floats, y: Floats, low: Floats, high: Floats) -> PlotMark:
    return PlotMark(label, color, line=(x, y), band=outline(x, low, high))


def rating_plot(ratings: pd.DataFrame, title: str) -> Plot:
    """Return a plot with one row per player of `mosaic_lab.League.ratings`, with its interval."""
    rows = tuple(str(player) for player in ratings.index)
    numbers = ratings[_RATING].to_numpy(np.float64)
    marks = tuple(_interval(label, row, (), numbers[row], ()) for row, label in enumerate(rows))
    return Plot(title, _RATING_NOTE, (Facet("Elo", "rating", marks, rows),), int(ratings.attrs["rng"]))


class Trained(NamedTuple):
    """The origin of a player: its training's name in the league, and its checkpoint's step."""

    training: str
    step: int


def training_plot(ratings: pd.DataFrame, trained: Mapping[str, Trained], title: str) -> Plot:
    """Return a plot with a line for each training, which connects its checkpoints' ratings over their steps,
    and a horizontal line for each other player."""
    numbers = ratings[_RATING].to_numpy(np.float64)
    by_player = {str(player): values for player, values in zip(ratings.index, numbers, strict=True)}
    steps = [origin.step for player, origin in trained.items() if player in by_player]
    step_range = np.array([min(steps), max(steps)], dtype=np.float64)
    marks: list[PlotMark] = []
    for training in dict.fromkeys(origin.training for origin in trained.values()):
        checkpoints = sorted(
            (origin.step, player)
            for player, origin in trained.items()
            if origin.training == training and player in by_player
        )
        x = np.array([step for step, _ in checkpoints], dtype=np.float64)
        value, low, high = np.array([by_player[player] for _, player in checkpoints]).T
        marks.append(replace(_curve(training, len(marks), x, value, low, high), points=(x, value)))
    for player, estimate in by_player.items():
        if player not in trained:
            value, low, high = (np.full(2, number) for number in estimate)
            marks.append(_curve(player, len(marks), step_range, value, low, high))
    return Plot(title, _RATING_NOTE, (Facet("Elo", "steps", tuple(marks)),), int(ratings.attrs["rng"]))
