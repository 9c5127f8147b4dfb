"""The units that an operator's intervals are over, as scores and in words.

An algorithm has a score for each training, the mean return of its episodes: the "runs" of Agarwal et al.
2021. Other operators have a score for each episode.
"""

from __future__ import annotations

import re
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

Completed = tuple[str, Sequence[Record]]
"""An operator's label and its completed episodes."""

_ONE_CHECKPOINT = " of one checkpoint"
_SINGLE_NOTE = "intervals over one checkpoint do not cover the variation between training seeds"
_FEW_NOTE = "intervals over fewer than 5 trainings are rough"
_FEW = re.compile("[1-4] trainings?")
_MAX_LABELS = 3  # operators named after what their intervals are over


def completed_by_operator(plan: EvaluationPlan, records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the completed episodes of each operator; those of an algorithm's trainings are joined."""
    return completed_in(plan.lanes_by_operator, records)


def completed_in(lanes: Mapping[str, Iterable[str]], records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the completed episodes in each of these sets of lanes."""
    by_lane: dict[str, list[Record]] = {}
    for record in records:
        if record["status"] == "ok":
            by_lane.setdefault(record["operator"], []).append(record)
    return {
        label: [record for lane in own_lanes for record in by_lane.get(lane, ())]
        for label, own_lanes in lanes.items()
    }


def failed_in(lanes: Mapping[str, Iterable[str]], records: Iterable[Record]) -> dict[str, int]:
    """Return the number of failed episodes in each of these sets of lanes."""
    failed = Counter(record["operator"] for record in records if record["status"] == "failed")
    return {label: sum(failed[lane] for lane in own_lanes) for label, own_lanes in lanes.items()}


def scores_of(plan: EvaluationPlan, label: str, records: Sequence[Record]) -> list[float] | list[list[float]]:
    """Return the scores of an operator's completed episodes in the form of `Scores`; see `in_units`."""
    return in_units(plan, label, records, [record["return"] for record in records])


def in_units(
    plan: EvaluationPlan, label: str, records: Sequence[Record], values: Sequence[float]
) -> list[float] | list[list[float]]:
    """Return ``values``, one per episode, in the units that are resampled.

    The units of an algorithm are its trainings, each with the mean of its episodes. Those of other operators
    are episodes or, if each of several seeds has several episodes in the same environment, seeds with their
    episodes. With a single seed, the values describe that one environment.
    """
    if label in plan.trainings:
        return [float(np.mean(group)) for group in grouped(records, values, "operator")]
    return grouped(records, values, "seed") if _by_seed(plan) else list(values)


def comparable_scores(plan: EvaluationPlan, pair: Sequence[Completed]) -> list[Any]:
    """Return the scores of two operators whose distributions are compared: of trainings on both sides, or of
    episodes on both, which for an algorithm are grouped by training."""
    algorithms = [label in plan.trainings for label, _ in pair]
    return [
        grouped(records, [record["return"] for record in records])
        if algorithm and not all(algorithms)
        else scores_of(plan, label, records)
        for algorithm, (label, records) in zip(algorithms, pair, strict=True)
    ]


def grouped(records: Sequence[Record], values: Sequence[float], key: str = "operator") -> list[list[float]]:
    """Return the values of episodes grouped by training (which is a lane), or another field of a record."""
    groups: dict[object, list[float]] = {}
    for record, value in zip(records, values, strict=True):
        groups.setdefault(record[key], []).append(value)
    return list(groups.values())


def training_means(plan: EvaluationPlan, label: str, records: Sequence[Record]) -> dict[str, float]:
    """Return the mean return of each training of an algorithm that has completed an episode."""
    returns: dict[str, list[float]] = {}
    for record in records:
        returns.setdefault(record["operator"], []).append(record["return"])
    lanes = plan.trainings[label].items()
    return {name: float(np.mean(returns[lane])) for name, lane in lanes if lane in returns}


def units_text(plan: EvaluationPlan, label: str, records: Sequence[Record]) -> str:
    """Describe what an operator's intervals are over: "5 trainings × 20 greedy episodes", "20 episodes".

    Episodes are greedy if each trained policy takes its best action.
    """
    lanes = plan.trainings.get(label, {}).values() or [label]
    trained = [
        spec for lane in lanes for spec in plan.mapping(lane).values() if "checkpoint" in spec.settings
    ]
    greedy = trained and all(spec.settings.get("deterministic") for spec in trained)
    episode = "greedy episode" if greedy else "episode"
    if label in plan.trainings:
        return _product(records, "operator", "training", episode)
    text = _product(records, "seed", "seed", episode) if _by_seed(plan) else _count(len(records), episode)
    return f"{text}{_ONE_CHECKPOINT}" if trained else text


def intervals_text(
    plan: EvaluationPlan, completed: Mapping[str, Sequence[Record]], intervals: str = INTERVALS["percentile"]
) -> str:
    """Describe what operators' ``intervals`` are over, given their completed episodes; see `sentence`."""
    return sentence(
        {label: units_text(plan, label, records) for label, records in completed.items() if records},
        intervals,
    )


def sentence(units: Mapping[str, str], intervals: str = INTERVALS["percentile"]) -> str:
    """Describe what operators' ``intervals`` are over, given their `units_text`, without a full stop. The
    sentence includes the limits of a result that is based on one training, or on few."""
    labels: dict[str, list[str]] = {}
    for label, text in units.items():
        labels.setdefault(text, []).append(label)
    if not labels:
        return intervals
    texts = [f"{text} ({named(group)})" if len(labels) > 1 else text for text, group in labels.items()]
    single = f"; {_SINGLE_NOTE}" if any(_ONE_CHECKPOINT in text for text in labels) else ""
    few = f"; {_FEW_NOTE}" if any(map(_FEW.match, labels)) else ""
    return f"{intervals} over {', '.join(texts)}{single}{few}"


def _by_seed(plan: EvaluationPlan) -> bool:
    request = plan.request
    return request.episodes > 1 and request.seed_sequence == "fixed" and len(plan.seeds) > 1


def _product(records: Sequence[Record], key: str, unit: str, episode: str) -> str:
    """Return "5 trainings × 20 episodes", or the total if the numbers of episodes differ."""
    counts = Counter(record[key] for record in records)
    units, sizes = _count(len(counts), unit), set(counts.values())
    if len(sizes) == 1:
        return f"{units} × {_count(sizes.pop(), episode)}"
    return f"{units}, {_count(len(records), episode)} in total"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def named(labels: Sequence[str]) -> str:
    """Return a list of the labels for a sentence, which names only the first few."""
    text = ", ".join(labels[:_MAX_LABELS])
    return text if len(labels) <= _MAX_LABELS else f"{text} and {len(labels) - _MAX_LABELS} more"
