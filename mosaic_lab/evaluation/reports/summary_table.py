"""The statistics of an evaluation's episodes: a summary per operator, and comparisons of two operators.

Failed episodes have no return; every statistic that excludes them is shown with their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.reports.model_costs import any_models, cost_columns, cost_of, total
from mosaic_lab.evaluation.statistics.averages import summary
from mosaic_lab.evaluation.statistics.paired import (
    PairedDifference,
    paired_difference,
    probability_of_improvement,
)
from mosaic_lab.evaluation.statistics.ratings import wilson
from mosaic_lab.evaluation.statistics.resampling import Estimate
from mosaic_lab.evaluation.statistics.scores import ONE_TASK, Scores
from mosaic_lab.number_format import full_number

if TYPE_CHECKING:
    from mosaic_lab.evaluation.reports.estimate_table import Estimates

UNKNOWN = Estimate(np.nan, np.nan, np.nan)

_ZERO_SUM = "The returns of the agents cancel out: .ratings() and .games() say who won."

_ESTIMATES = ("mean", "median", "iqm", "optimality_gap")


@dataclass(frozen=True, repr=False)
class Versus:
    """A first operator against a second.

    ``difference``: of returns, first minus second, over shared seeds. ``probability``: of a higher return in
    an episode of the first. ``failed`` episodes, by operator, are in neither. ``rng`` is the seed of the
    resampling.
    """

    first: str
    second: str
    difference: PairedDifference
    probability: Estimate
    failed: dict[str, int]
    rng: int

    def __repr__(self) -> str:
        mean, better = self.difference.mean, self.probability
        low, high = full_number(mean.low), full_number(mean.high)
        failed = ", ".join(f"{count:,} of {label}" for label, count in self.failed.items() if count)
        return (
            f"{self.first} − {self.second}: {full_number(mean.value, '+')} [{low}, {high}] "
            f"on {len(self.difference.seeds):,} seeds; "
            f"P(better) = {better.value:.2f} [{better.low:.2f}, {better.high:.2f}]"
            + (f"; failed: {failed}" if failed else "")
        )


def summary_table(
    plan: EvaluationPlan, records: Sequence[Record], target: float | None, rng: int
) -> Estimates:
    """Return one row per operator: episodes, failed, and each estimate with its ``_low`` and ``_high``; the
    mean length; and, if available, the success rate with its Wilson interval, tokens, and for language models
    their `COLUMNS` and the mean cost of an episode with its interval, ``episode_usd``. A note gives the
    number of episodes if some are missing, and suggests alternatives to a return that is 0 in every episode
    of a zero-sum game.
    """
    from mosaic_lab.evaluation.reports.estimate_table import estimates_table

    played, failed = played_by(plan.lanes, records), _failed(records)
    scores = {label: _scores(plan, episodes) for label, episodes in played.items() if episodes}
    summaries = summary(scores, rng=np.random.default_rng(rng), target=target) if scores else {}
    rows: list[dict[str, Any]] = []
    models = any_models(records) or any(spec.is_language_model for spec in plan.operators.values())
    for label in plan.lanes:
        row: dict[str, Any] = {"operator": label, "episodes": len(played[label]), "failed": failed[label]}
        for name in _ESTIMATES:
            if name != "optimality_gap" or target is not None:
                row[name] = getattr(summaries[label], name) if label in summaries else UNKNOWN
        rows.append(row | _facts(played[label], tokens=models))
        if models:
            cost = _episode_cost(plan, played[label], rng)
            rows[-1] |= cost_columns(played[label]) | {"episode_usd": cost}
    zero_sum = _are_zero_sum(record for some in played.values() for record in some)
    notes = [*_incomplete(plan, records), *([_ZERO_SUM] if zero_sum else [])]
    return estimates_table(rows, "operator", rng=rng, **({"note": " ".join(notes)} if notes else {}))


def _incomplete(plan: EvaluationPlan, records: Sequence[Record]) -> Iterator[str]:
    """Yield a sentence about unrecorded episodes, if any."""
    if len(records) < (total := len(plan.jobs())):
        yield f"{len(records):,} of {total:,} episodes are recorded: these numbers cover only those."


def _are_zero_sum(played: Iterable[Record]) -> bool:
    """Return whether the agents' returns sum to zero in each of these episodes, and are not all 0."""
    returns = [list(record["returns"].values()) for record in played]
    return any(map(any, returns)) and all(len(rewards) > 1 and sum(rewards) == 0 for rewards in returns)


def _facts(played: Sequence[Record], tokens: bool) -> dict[str, Any]:
    """Return the columns besides returns: always the length, others if available."""
    facts: dict[str, Any] = {
        "length": float(np.mean([record["steps"] for record in played])) if played else np.nan
    }
    successes = [bool(record["success"]) for record in played if record.get("success") is not None]
    if successes:
        facts["success"] = wilson(sum(successes), len(successes))
    for name in ("input_tokens", "output_tokens"):
        spent = total(
            (operator for record in played for operator in (record.get("operators") or {}).values()), name
        )
        if spent or tokens:
            facts[name] = spent or np.nan
    return facts


def _episode_cost(plan: EvaluationPlan, played: Sequence[Record], rng: int) -> Estimate:
    """Return the mean cost of an episode in US dollars; NaN if any is unknown, or without a model."""
    costs = [cost_of(record) for record in played]
    if not costs or not np.isfinite(costs).all():
        return UNKNOWN
    scores = {"": {ONE_TASK: _in_units(plan, played, costs)}}
    return summary(scores, rng=np.random.default_rng(rng))[""].mean


def versus(plan: EvaluationPlan, records: Sequence[Record], first: str, second: str, rng: int) -> Versus:
    """Compare two operators.

    Raises ConfigurationError for unknown operators, or operators without a completed episode.
    """
    pairs, scores = [], []
    every, failed = played_by(plan.lanes, records), _failed(records)
    for label in (first, second):
        if label not in every and (lanes := _lanes_with(plan, label)):
            raise ConfigurationError(
                f"{label!r} acts in lanes such as {lanes[0]!r}: pass two lanes, or use .ratings() to "
                "compare players"
            )
        check_operator(label, every)
        played = every[label]
        if not played:
            raise ConfigurationError(f"{label} has played no episode to its end yet")
        pairs.append(([record["seed"] for record in played], [record["return"] for record in played]))
        scores.append(_scores(plan, played))
    # separate generators: draws for one statistic do not affect the other
    return Versus(
        first=first,
        second=second,
        difference=paired_difference(pairs[0], pairs[1], rng=np.random.default_rng([rng, 0])),
        probability=probability_of_improvement(scores[0], scores[1], rng=np.random.default_rng([rng, 1])),
        failed={label: failed[label] for label in (first, second)},
        rng=rng,
    )


def _lanes_with(plan: EvaluationPlan, player: str) -> list[str]:
    """Return the lanes in which an operator of this name acts."""
    return [
        label for label in plan.lanes if any(spec.name == player for spec in plan.mapping(label).values())
    ]


def check_operator(label: str, labels: Iterable[str]) -> None:
    """Raise ConfigurationError for an unknown operator."""
    if label not in labels:
        raise ConfigurationError(f"no operator {label!r}: the operators are {', '.join(labels)}")


def played_by(labels: Iterable[str], records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the completed episodes of each of these operators."""
    played: dict[str, list[Record]] = {label: [] for label in labels}
    for record in records:
        if record["status"] == "ok" and record["operator"] in played:
            played[record["operator"]].append(record)
    return played


def _failed(records: Iterable[Record]) -> Counter[str]:
    """Return the number of failed episodes of each operator."""
    return Counter(record["operator"] for record in records if record["status"] == "failed")


def returns_of(plan: EvaluationPlan, played: Sequence[Record]) -> list[float] | list[list[float]]:
    """Return the returns, episode by episode. If each of several seeds has several episodes, return a list
    per seed, because those are resampled together. With a single seed, the numbers describe that one
    environment.
    """
    return _in_units(plan, played, [record["return"] for record in played])


def _in_units(
    plan: EvaluationPlan, played: Sequence[Record], values: Sequence[float]
) -> list[float] | list[list[float]]:
    """Return one value per episode, grouped in resampling units; see `returns_of`."""
    if plan.request.episodes == 1 or plan.request.seed_sequence == "procedural" or len(plan.seeds) == 1:
        return list(values)
    by_seed: dict[int, list[float]] = {}
    for record, value in zip(played, values, strict=True):
        by_seed.setdefault(record["seed"], []).append(value)
    return list(by_seed.values())


def _scores(plan: EvaluationPlan, played: Sequence[Record]) -> Scores:
    return {ONE_TASK: returns_of(plan, played)}
