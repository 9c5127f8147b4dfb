"""Comparisons of two operators of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.reports.units import (
    Played,
    comparable_scores,
    failed_in,
    over_text,
    played_in,
    scores_of,
)
from mosaic_lab.evaluation.statistics.paired import (
    MeanDifference,
    PairedDifference,
    mean_difference,
    paired_difference,
    probability_of_improvement,
)
from mosaic_lab.evaluation.statistics.resampling import Estimate
from mosaic_lab.evaluation.statistics.scores import ONE_TASK
from mosaic_lab.number_format import full_number


@dataclass(frozen=True, repr=False)
class Versus:
    """A first operator against a second.

    ``difference``: of returns, first minus second: over shared seeds, or of the means if one of them is an
    algorithm, whose trainings have no pairs. ``probability``: of a higher return in an episode of the first;
    of a higher mean return of a training of the first if both are algorithms. ``failed`` episodes, by
    operator, are in neither. ``over`` states what the intervals are over, ``rng`` is the seed of the
    resampling.
    """

    first: str
    second: str
    difference: PairedDifference | MeanDifference
    probability: Estimate
    failed: dict[str, int]
    rng: int
    over: str

    def __repr__(self) -> str:
        mean, better = self.difference.mean, self.probability
        low, high = full_number(mean.low), full_number(mean.high)
        failed = ", ".join(f"{count:,} of {label}" for label, count in self.failed.items() if count)
        paired = self.difference if isinstance(self.difference, PairedDifference) else None
        seeds = "" if paired is None else f" on {len(paired.seeds):,} seeds"
        return (
            f"{self.first} − {self.second}: {full_number(mean.value, '+')} [{low}, {high}]{seeds}; "
            f"P(better) = {better.value:.2f} [{better.low:.2f}, {better.high:.2f}]"
            + (f"; failed: {failed}" if failed else "")
            + f"\n{self.over}"
        )


def versus(plan: EvaluationPlan, records: Sequence[Record], first: str, second: str, rng: int) -> Versus:
    """Compare two operators, or single trainings of them by their lanes.

    Raises ConfigurationError for unknown operators, or operators without a completed episode.
    """
    lanes_of = {lane: [lane] for lane in plan.lanes} | plan.lanes_by_operator
    every = played_in(lanes_of, records)
    for label in (first, second):
        if label not in every and (lanes := _lanes_with(plan, label)):
            raise ConfigurationError(
                f"{label!r} acts in lanes such as {lanes[0]!r}: pass two lanes, or use .ratings() to "
                "compare players"
            )
        check_operator(label, every)
        if not every[label]:
            raise ConfigurationError(f"{label} has played no episode to its end yet")
    pair = (first, every[first]), (second, every[second])
    failed = failed_in(lanes_of, records)
    # separate generators: draws for one statistic do not affect the other
    return Versus(
        first=first,
        second=second,
        difference=_difference(plan, pair, np.random.default_rng([rng, 0])),
        probability=_probability(plan, pair, np.random.default_rng([rng, 1])),
        failed={label: failed[label] for label in (first, second)},
        rng=rng,
        over=over_text(plan, dict(pair)),
    )


def _difference(
    plan: EvaluationPlan, pair: Sequence[Played], rng: np.random.Generator
) -> PairedDifference | MeanDifference:
    if any(label in plan.trainings for label, _ in pair):
        first, second = ({ONE_TASK: scores_of(plan, *played)} for played in pair)
        return mean_difference(first, second, rng=rng)
    ours, theirs = (
        ([record["seed"] for record in played], [record["return"] for record in played]) for _, played in pair
    )
    return paired_difference(ours, theirs, rng=rng)


def _probability(plan: EvaluationPlan, pair: Sequence[Played], rng: np.random.Generator) -> Estimate:
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
