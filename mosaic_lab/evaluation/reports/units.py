"""The units that an operator's intervals are over, as scores and in words.

An algorithm has a score for each training, the mean return of its episodes: the "runs" of Agarwal et al.
2021. Other operators have a score for each episode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.plan import EvaluationPlan

INTERVALS = {
    "percentile": "95% stratified bootstrap intervals",
    "pointwise": "95% pointwise stratified bootstrap intervals",
    "bca": "95% bias-corrected and accelerated bootstrap intervals",
}
"""The names of kinds of intervals."""

Played = tuple[str, Sequence[Record]]
"""An operator's label and its completed episodes."""

_ONE = " of one checkpoint"
_SINGLE = "episodes of one checkpoint say nothing about another training seed"
_MOST_LABELS = 3  # operators named after what their intervals are over


def played_by(plan: EvaluationPlan, records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the completed episodes of each operator; those of an algorithm's trainings are joined."""
    return played_in(plan.lanes_by_operator, records)


def played_in(lanes: Mapping[str, Iterable[str]], records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the completed episodes in each of these sets of lanes."""
    by_lane: dict[str, list[Record]] = {}
    for record in records:
        if record["status"] == "ok":
            by_lane.setdefault(record["operator"], []).append(record)
    return {
        label: [record for lane in own for record in by_lane.get(lane, ())] for label, own in lanes.items()
    }


def failed_in(lanes: Mapping[str, Iterable[str]], records: Iterable[Record]) -> dict[str, int]:
    """Return the number of failed episodes in each of these sets of lanes."""
    failed = Counter(record["operator"] for record in records if record["status"] == "failed")
    return {label: sum(failed[lane] for lane in own) for label, own in lanes.items()}


def scores_of(plan: EvaluationPlan, label: str, played: Sequence[Record]) -> list[float] | list[list[float]]:
    """Return the scores of an operator's completed episodes in the form of `Scores`; see `in_units`."""
    return in_units(plan, label, played, [record["return"] for record in played])


def in_units(
    plan: EvaluationPlan, label: str, played: Sequence[Record], values: Sequence[float]
) -> list[float] | list[list[float]]:
    """Return ``values``, one per episode, in the units that are resampled.

    The units of an algorithm are its trainings, each with the mean of its episodes. Those of other operators
    are episodes or, if each of several seeds has several episodes in the same environment, seeds with their
    episodes. With a single seed, the values describe that one environment.
    """
    if label in plan.trainings:
        return [float(np.mean(own)) for own in grouped(played, values, "operator")]
    return grouped(played, values, "seed") if _by_seed(plan) else list(values)


def comparable_scores(plan: EvaluationPlan, pair: Sequence[Played]) -> list[Any]:
    """Return the scores of two operators whose distributions are compared: of trainings on both sides, or of
    episodes on both, which for an algorithm are grouped by training."""
    algorithms = [label in plan.trainings for label, _ in pair]
    return [
        grouped(played, [record["return"] for record in played])
        if algorithm and not all(algorithms)
        else scores_of(plan, label, played)
        for algorithm, (label, played) in zip(algorithms, pair, strict=True)
    ]


def grouped(played: Sequence[Record], values: Sequence[float], by: str = "operator") -> list[list[float]]:
    """Return the values of episodes grouped by training (which is a lane), or another field of a record."""
    groups: dict[object, list[float]] = {}
    for record, value in zip(played, values, strict=True):
        groups.setdefault(record[by], []).append(value)
    return list(groups.values())


def training_means(plan: EvaluationPlan, label: str, played: Sequence[Record]) -> dict[str, float]:
    """Return the mean return of each training of an algorithm that has completed an episode."""
    returns: dict[str, list[float]] = {}
    for record in played:
        returns.setdefault(record["operator"], []).append(record["return"])
    lanes = plan.trainings[label].items()
    return {name: float(np.mean(returns[lane])) for name, lane in lanes if lane in returns}


def units_text(plan: EvaluationPlan, label: str, played: Sequence[Record]) -> str:
    """Describe what an operator's intervals are over: "5 trainings × 20 episodes", "20 episodes"."""
    if label in plan.trainings:
        return _product(played, "operator", "training")
    text = _product(played, "seed", "seed") if _by_seed(plan) else _count(len(played), "episode")
    trained = any("checkpoint" in spec.settings for spec in plan.mapping(label).values())
    return f"{text}{_ONE}" if trained else text


def over_text(
    plan: EvaluationPlan, played: Mapping[str, Sequence[Record]], intervals: str = INTERVALS["percentile"]
) -> str:
    """Describe what operators' ``intervals`` are over, given their completed episodes; see `sentence`."""
    return sentence({label: units_text(plan, label, own) for label, own in played.items() if own}, intervals)


def sentence(units: Mapping[str, str], intervals: str = INTERVALS["percentile"]) -> str:
    """Describe what operators' ``intervals`` are over, given their `units_text`, without a full stop. The
    sentence includes the limits of a result that is based on a single training."""
    labels: dict[str, list[str]] = {}
    for label, text in units.items():
        labels.setdefault(text, []).append(label)
    if not labels:
        return intervals
    texts = [f"{text} ({named(own)})" for text, own in labels.items()] if len(labels) > 1 else list(labels)
    single = f"; {_SINGLE}" if any(_ONE in text for text in labels) else ""
    return f"{intervals} over {', '.join(texts)}{single}"


def _by_seed(plan: EvaluationPlan) -> bool:
    request = plan.request
    return request.episodes > 1 and request.seed_sequence == "fixed" and len(plan.seeds) > 1


def _product(played: Sequence[Record], by: str, unit: str) -> str:
    """Return "5 trainings × 20 episodes", or the total if the numbers of episodes differ."""
    counts = Counter(record[by] for record in played)
    units, each = _count(len(counts), unit), set(counts.values())
    if len(each) == 1:
        return f"{units} × {_count(each.pop(), 'episode')}"
    return f"{units}, {_count(len(played), 'episode')} in total"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def named(labels: Sequence[str]) -> str:
    """Return a list of the labels for a sentence, which names only the first few."""
    text = ", ".join(labels[:_MOST_LABELS])
    return text if len(labels) <= _MOST_LABELS else f"{text} and {len(labels) - _MOST_LABELS} more"
