"""The statistics of an evaluation's episodes: a summary per operator, and comparisons of two operators.

Failed episodes have no return; every statistic that excludes them is shown with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.reports.tables import any_models, cost_columns, cost_of, total
from mosaic_lab.evaluation.reports.units import (
    INTERVALS,
    Completed,
    comparable_scores,
    completed_by_operator,
    completed_in,
    failed_in,
    in_units,
    intervals_text,
    named,
    scores_of,
    training_means,
)
from mosaic_lab.evaluation.statistics.averages import AVERAGES, summary
from mosaic_lab.evaluation.statistics.custom import Interval, Statistic, statistic
from mosaic_lab.evaluation.statistics.paired import (
    MeanDifference,
    PairedDifference,
    mean_difference,
    paired_difference,
    probability_of_improvement,
)
from mosaic_lab.evaluation.statistics.ratings import wilson
from mosaic_lab.evaluation.statistics.resampling import ONE_TASK, Estimate, Scores
from mosaic_lab.number_format import full_number
from mosaic_lab.operators.spec import function_name
from mosaic_lab.workers.families import shown_as

if TYPE_CHECKING:
    from mosaic_lab.evaluation.reports.estimate_table import Estimates


UNKNOWN = Estimate(np.nan, np.nan, np.nan)

_ZERO_SUM = "The returns of the agents cancel out: .ratings() and .games() show who won."

_ESTIMATES = [name for name in AVERAGES if name != "task_median"]  # of one environment


def summary_table(
    plan: EvaluationPlan, records: Sequence[Record], target: float | None, rng: int
) -> Estimates:
    """Return one row per operator.

    Columns: episodes, failed, and each estimate with its ``_low`` and ``_high``; the mean length; and, if
    available, the success rate with its interval (Wilson's, or over trainings), tokens, and for language
    models their `COLUMNS` and the mean cost of an episode with its interval, ``episode_usd``. A note states
    what the intervals are over, gives the number of episodes if some are missing, explains intervals of zero
    width, and suggests alternatives to the returns of zero-sum games. ``attrs["trainings"]`` has the mean
    return of each training of an algorithm.
    """
    from mosaic_lab.evaluation.reports.estimate_table import estimates_table

    completed, failed = completed_by_operator(plan, records), failed_in(plan.lanes_by_operator, records)
    scores: dict[str, Scores] = {
        label: {ONE_TASK: scores_of(plan, label, episodes)}
        for label, episodes in completed.items()
        if episodes
    }
    summaries = summary(scores, rng=np.random.default_rng(rng), target=target) if scores else {}
    rows: list[dict[str, Any]] = []
    models = any_models(records) or any(spec.is_language_model for spec in plan.operators.values())
    for label in completed:
        row: dict[str, Any] = {"operator": label, "episodes": len(completed[label]), "failed": failed[label]}
        for name in _ESTIMATES:
            if name != "optimality_gap" or target is not None:
                row[name] = getattr(summaries[label], name) if label in summaries else UNKNOWN
        rows.append(row | _facts(plan, label, completed[label], rng, tokens=models))
        if models:
            cost = _episode_cost(plan, label, completed[label], rng)
            rows[-1] |= cost_columns(completed[label]) | {"episode_usd": cost}
    zero_sum = _are_zero_sum(chain.from_iterable(completed.values()))
    intervals = intervals_text(plan, completed)
    notes = [
        f"{intervals}.",
        *_incomplete(plan, records),
        *_constant({row["operator"]: row["mean"] for row in rows}, bool(plan.trainings)),
    ]
    notes += [_ZERO_SUM] if zero_sum else []
    trainings = {label: training_means(plan, label, completed[label]) for label in plan.trainings}
    attrs = {"rng": rng, "over": intervals, "environment": shown_as(plan.env_id, plan.family)}
    return estimates_table(rows, "operator", **attrs, note=" ".join(notes), trainings=trainings)


def statistic_table(
    plan: EvaluationPlan, records: Sequence[Record], function: Statistic, interval: Interval, rng: int
) -> Estimates:
    """Return one row per operator: episodes, failed, and the user's own statistic with its interval."""
    from mosaic_lab.evaluation.reports.estimate_table import estimates_table

    completed, failed = completed_by_operator(plan, records), failed_in(plan.lanes_by_operator, records)
    name = function_name(function)
    rows = []
    for label, episodes in completed.items():
        scores = [float(np.mean(unit)) for unit in scores_of(plan, label, episodes)]
        estimate = (
            statistic(scores, function, rng=np.random.default_rng(rng), interval=interval)
            if scores
            else UNKNOWN
        )
        row = {"operator": label, "episodes": len(episodes), "failed": failed[label]}
        rows.append(row | {"statistic" if name == "lambda" else name: estimate})
    intervals = intervals_text(plan, completed, INTERVALS[interval])
    attrs = {"rng": rng, "over": intervals, "environment": shown_as(plan.env_id, plan.family)}
    return estimates_table(rows, "operator", **attrs, note=f"{intervals}.")


def _incomplete(plan: EvaluationPlan, records: Sequence[Record]) -> Iterator[str]:
    """Yield a sentence about unrecorded episodes, if any."""
    if len(records) < (total := len(plan.jobs())):
        yield f"{len(records):,} of {total:,} episodes are recorded: these numbers cover only those."


def _constant(means: Mapping[str, Estimate], has_trainings: bool) -> Iterator[str]:
    """Yield a sentence about operators whose intervals have no width, if any."""
    if labels := [label for label, mean in means.items() if mean.low == mean.high]:
        yield (
            f"The returns of {named(labels)} are all equal: an interval of zero width does not rule out "
            f"other returns on other seeds{' or from other trainings' if has_trainings else ''}."
        )


def _are_zero_sum(records: Iterable[Record]) -> bool:
    """Return whether the agents' returns sum to zero in each of these episodes, and are not all 0."""
    returns = [list(record["returns"].values()) for record in records]
    return any(map(any, returns)) and all(len(rewards) > 1 and sum(rewards) == 0 for rewards in returns)


def _facts(
    plan: EvaluationPlan, label: str, episodes: Sequence[Record], rng: int, tokens: bool
) -> dict[str, Any]:
    """Return the columns other than returns: always the length, and others if available."""
    facts: dict[str, Any] = {
        "length": float(np.mean([record["steps"] for record in episodes])) if episodes else np.nan
    }
    judged = [record for record in episodes if record.get("success") is not None]
    if successes := [bool(record["success"]) for record in judged]:
        facts["success"] = (
            _mean(plan, label, judged, successes, rng)
            if label in plan.trainings
            else wilson(sum(successes), len(successes))
        )
    for name in ("input_tokens", "output_tokens"):
        spent = total(
            (operator for record in episodes for operator in (record.get("operators") or {}).values()), name
        )
        if spent or tokens:
            facts[name] = spent or np.nan
    return facts


def _episode_cost(plan: EvaluationPlan, label: str, episodes: Sequence[Record], rng: int) -> Estimate:
    """Return the mean cost of an episode in US dollars; NaN if any cost is unknown, or without a model."""
    costs = [cost_of(record) for record in episodes]
    if not costs or not np.isfinite(costs).all():
        return UNKNOWN
    return _mean(plan, label, episodes, costs, rng)


def _mean(
    plan: EvaluationPlan, label: str, episodes: Sequence[Record], values: Sequence[float], rng: int
) -> Estimate:
    """Return the mean of the episodes' values, with its interval over the operator's units."""
    scores: dict[str, Scores] = {label: {ONE_TASK: in_units(plan, label, episodes, values)}}
    return summary(scores, rng=np.random.default_rng(rng))[label].mean


@dataclass(frozen=True, repr=False)
class Versus:
    """A comparison of a first operator with a second.

    ``difference`` is the difference in returns, first minus second: over shared seeds, or between the means
    if either is an algorithm, whose trainings have no pairs. ``probability`` is that of a higher return in an
    episode of the first or, if both are algorithms, of a higher mean return of a training of the first.
    Neither includes ``failed`` episodes, counted by operator. ``over`` states what the intervals are over,
    ``rng`` is the seed of the resampling.
    """

    first: str
    second: str
    difference: PairedDifference | MeanDifference
    probability: Estimate
    failed: dict[str, int]
    rng: int
    over: str

    def __repr__(self) -> str:
        mean = self.difference.mean
        failed = ", ".join(f"{count:,} of {label}" for label, count in self.failed.items() if count)
        paired = self.difference if isinstance(self.difference, PairedDifference) else None
        seeds = "" if paired is None else f" on {len(paired.seeds):,} seeds"
        seeds += ", all differences equal" if mean.low == mean.high else ""
        estimates = versus_text(self.first, self.second, mean, self.probability, seeds)
        return estimates + (f"; failed: {failed}" if failed else "") + f"\n{self.over}"


def versus_text(first: str, second: str, difference: Estimate, better: Estimate, scope: str) -> str:
    """Return the comparison of two operators as text; ``scope`` follows the difference."""
    low, high = full_number(difference.low), full_number(difference.high)
    return (
        f"{first} − {second}: {full_number(difference.value, '+')} [{low}, {high}]{scope}; "
        f"P(better) = {better.value:.2f} [{better.low:.2f}, {better.high:.2f}]"
    )


def versus(plan: EvaluationPlan, records: Sequence[Record], first: str, second: str, rng: int) -> Versus:
    """Compare two operators, or single trainings of them, given by lane. Raises ConfigurationError for
    operators that are unknown or have no completed episode."""
    lanes_of = {lane: [lane] for lane in plan.lanes} | plan.lanes_by_operator
    completed = completed_in(lanes_of, records)
    for label in (first, second):
        if label not in completed and (lanes := _lanes_with(plan, label)):
            raise ConfigurationError(
                f"{label!r} acts in lanes such as {lanes[0]!r}: pass two lanes, or use .ratings() to "
                "compare players"
            )
        check_operator(label, completed)
        if not completed[label]:
            raise ConfigurationError(f"{label} has played no episode to its end yet")
    pair = (first, completed[first]), (second, completed[second])
    failed = failed_in(lanes_of, records)
    # Separate generators, so that draws for one statistic do not affect the other.
    return Versus(
        first=first,
        second=second,
        difference=_difference(plan, pair, np.random.default_rng([rng, 0])),
        probability=_probability(plan, pair, np.random.default_rng([rng, 1])),
        failed={label: failed[label] for label in (first, second)},
        rng=rng,
        over=intervals_text(plan, dict(pair)),
    )


def _difference(
    plan: EvaluationPlan, pair: Sequence[Completed], rng: np.random.Generator
) -> PairedDifference | MeanDifference:
    if any(label in plan.trainings for label, _ in pair):
        first, second = ({ONE_TASK: scores_of(plan, *completed)} for completed in pair)
        return mean_difference(first, second, rng=rng)
    samples = (
        ([record["seed"] for record in records], [record["return"] for record in records])
        for _, records in pair
    )
    return paired_difference(*samples, rng=rng)


def _probability(plan: EvaluationPlan, pair: Sequence[Completed], rng: np.random.Generator) -> Estimate:
    first, second = ({ONE_TASK: scores} for scores in comparable_scores(plan, pair))
    return probability_of_improvement(first, second, rng=rng)


def _lanes_with(plan: EvaluationPlan, player: str) -> list[str]:
    """Return the lanes in which an operator of this name acts."""
    return [
        label for label in plan.lanes if any(spec.name == player for spec in plan.mapping(label).values())
    ]


def check_operator(label: str, labels: Iterable[str]) -> None:
    """Raise ConfigurationError for an unknown operator."""
    if label not in labels:
        raise ConfigurationError(f"no operator {label!r}: the operators are {', '.join(labels)}")
