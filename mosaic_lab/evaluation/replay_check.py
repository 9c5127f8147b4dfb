"""The check that an evaluation is reproducible: its episodes are played again and compared step by step."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import structs

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.episode_log import PlayedEvaluation, key_of
from mosaic_lab.evaluation.fingerprints import changed, differing_versions, outcomes
from mosaic_lab.evaluation.plan import EvaluationPlan, episode_text
from mosaic_lab.evaluation.recordings import replayed

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.evaluation.results import Results

_MAX_LISTED = 10  # differences in a message
_COMPARED_COLUMNS = ["agent_id", "action", "reward", "terminated", "truncated"]

Start = Callable[[EvaluationPlan], "Results"]


@dataclass(frozen=True)
class EpisodeDifference:
    """An episode with a different outcome. ``what`` names the values that differ; ``step`` is the first step
    that differs, None if no step does or none was recorded."""

    operator: str
    seed: int
    episode: int
    what: tuple[str, ...]
    step: int | None

    def __str__(self) -> str:
        name = episode_text(self.operator, self.seed, self.episode)
        return f"{name}: {', '.join(self.what)}" + ("" if self.step is None else f", from step {self.step}")


@dataclass(frozen=True, repr=False)
class Verification:
    """The result of playing a number of ``episodes`` again, with their differences.

    ``versions`` lists changed versions: {operator: {package: (then, now)}}. ``run`` is the id of the run that
    played them, if kept.
    """

    episodes: int
    differences: tuple[EpisodeDifference, ...]
    versions: dict[str, dict[str, tuple[str | None, str | None]]]
    run: str | None = None

    @property
    def same(self) -> bool:
        """Whether every episode had the same outcome."""
        return not self.differences

    def __repr__(self) -> str:
        if self.same:
            return f"<Verification: {self.episodes:,} episodes played again, all the same>"
        head = f"{len(self.differences):,} of {self.episodes:,} episodes differ; run {self.run} has them"
        lines = [f"  {difference}" for difference in self.differences[:_MAX_LISTED]]
        more = len(self.differences) - len(lines)
        lines += [f"  and {more:,} more"] if more else []
        return "\n".join([f"<Verification: {head}", *lines]) + ">"


def check_by_replay(evaluation: PlayedEvaluation, sample: int | None, start: Start) -> Verification:
    """Play the episodes of an evaluation again, or a random ``sample`` of them (None: all).

    Language models and engines answer from its own recording. ``start`` starts an evaluation from a plan;
    this function waits for it and stops it if interrupted. Its folder is removed if nothing differs. Raises
    ConfigurationError if a checkpoint has changed, language models have no recording, or the sample is
    invalid.
    """
    plan = evaluation.plan
    if sample is not None and (type(sample) is not int or not sample >= 1):
        raise ConfigurationError(
            f"sample={sample!r}: must be a number of episodes to play again, or None for all"
        )
    if why := changed(plan):
        raise ConfigurationError(why)
    recorded = {key_of(record): record for record in evaluation.records()}
    keys = list(recorded)
    if sample is not None and sample < len(keys):
        keys = random.Random(len(keys)).sample(keys, sample)  # fixed seed: the same sample each time
    models = [spec.name for spec in plan.operators.values() if spec.is_language_model]
    if any(evaluation.recording.glob("*.jsonl")):  # of language models, or of engines only
        plan = replayed(plan, evaluation.recording)
    elif models:
        raise ConfigurationError(
            f"there is no recording in {evaluation.recording}: {', '.join(models)} would have to be called "
            "again, and may answer differently"
        )
    rerun = start(replace(plan, only=keys, request=structs.replace(plan.request, on_failure="skip")))
    try:
        rerun.wait()
    finally:
        rerun.stop()
    differences = []
    for record in rerun.records():
        key = key_of(record)
        (old,), (new,) = outcomes([recorded[key]]), outcomes([record])
        differing = tuple(name for name in old if repr(old[name]) != repr(new[name]))  # repr: NaN equals NaN
        step = _first_difference(evaluation.steps(*key), rerun.steps(*key))
        if differing or step is not None:
            differences.append(EpisodeDifference(*key, differing or ("steps",), step))
    versions = {
        label: texts
        for label, current in rerun.versions.items()
        if (texts := differing_versions(evaluation.versions.get(label, {}), current))
    }
    if not differences:
        rerun.remove()
    return Verification(len(keys), tuple(differences), versions, rerun.id if differences else None)


def _first_difference(old: pd.DataFrame, new: pd.DataFrame) -> int | None:
    shared = min(len(old), len(new))
    for name in _COMPARED_COLUMNS:
        old_values, new_values = old[name].head(shared).map(repr), new[name].head(shared).map(repr)
        shared = min([shared, *(index for index in range(shared) if old_values[index] != new_values[index])])
    if shared < len(old):
        return int(old["step_index"][shared])
    return int(new["step_index"][shared]) if shared < len(new) else None
