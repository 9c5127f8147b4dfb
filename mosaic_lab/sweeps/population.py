"""Decisions between segments of trials.

In population-based training (Jaderberg et al. 2017), members exploit each other's checkpoints and explore.
Each trains one segment, in parallel with the others, and the next segments begin when all have ended.
Decisions are therefore a function of the sweep's seed, the round and the values, independent of the members'
speed.

ASHA (Li et al. 2020), as published, promotes instead: trials pause at a rung, and the best continue from
their checkpoints. Running trials are never stopped. A trial is promoted if it is among the best third of the
trials that have completed its rung so far; otherwise it may be promoted later, after further trials complete
the rung.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.segments import FACTOR
from mosaic_lab.sweeps.space import Choice, Distribution, Range, Space, to_json
from mosaic_lab.sweeps.trials import NextSegment, Proposal, SegmentSource, Trial, TrialState

SHARE = 0.25
"""Share of the members that are replaced by copies of equally many of the best, rounded down but at least
one."""
RESAMPLED = 0.25
"""Probability of resampling a copied hyperparameter instead of perturbing it."""
FACTORS = (0.8, 1.2)
"""Factors of a perturbation on a logarithmic scale."""
PART = 0.1
"""Share of its range by which a value on a linear scale is perturbed."""


class Population:
    """Decides how a population, whose members are the trials of ``plan``, continues."""

    def __init__(self, plan: SweepPlan) -> None:
        self._space = plan.space
        self._size = plan.request.trials
        self._seed = plan.request.seed
        self._maximize = plan.request.mode == "max"

    def next(self, trials: Sequence[Trial]) -> Proposal | NextSegment | None:
        if len(trials) < self._size:
            return self._sample_proposal(self._generator(0, len(trials)))
        alive = [trial for trial in trials if trial.alive]
        newest = max((trial.schedule[-1].place for trial in alive), default=0)
        waiting = [trial for trial in alive if trial.state is TrialState.WAITING]
        behind = [trial for trial in waiting if trial.schedule[-1].place < newest]
        if behind:
            return self._following(trials, behind[0], newest)
        if not waiting or len(waiting) < len(alive):
            return None
        return self._following(trials, waiting[0], newest + 1)

    def _following(self, trials: Sequence[Trial], member: Trial, place: int) -> NextSegment:
        """Return a member's segment in round ``place``: its continuation, or a copy that explores."""
        previous = {trial.number: end for trial in trials if (end := trial.segment(place - 1)) is not None}
        values = {number: end.value or 0.0 for number, end in previous.items()}
        copied = copies(values, self._maximize, random.Random(f"{self._seed}/{place}"))
        source = SegmentSource(copied.get(member.number, member.number), place - 1)
        parameters = previous[source.trial].parameters
        if source.trial != member.number:
            parameters = explored(parameters, self._space, self._generator(place, member.number))
        return NextSegment(member.number, place, _proposal(parameters, self._space), source)

    def _sample_proposal(self, generator: random.Random) -> Proposal:
        parameters = {
            name: sample(distribution, generator) for name, distribution in self._space.parameters.items()
        }
        return _proposal(parameters, self._space)

    def _generator(self, place: int, member: int) -> random.Random:
        return random.Random(f"{self._seed}/{place}/{member}")


def copies(values: Mapping[int, float], maximize: bool, generator: random.Random) -> dict[int, int]:
    """Return which of the worst members copies which of the best, by their values (truncation selection)."""
    sign = -1 if maximize else 1
    ranked = sorted(values, key=lambda member: (sign * values[member], member))
    count = min(max(1, math.floor(SHARE * len(ranked))), len(ranked) // 2)
    return {member: generator.choice(ranked[:count]) for member in sorted(ranked[len(ranked) - count :])}


def explored(parameters: Mapping[str, Any], space: Space, generator: random.Random) -> dict[str, Any]:
    """Return perturbed or resampled values of a copied member's hyperparameters."""
    explored = {}
    for name, distribution in space.parameters.items():
        resample = generator.random() < RESAMPLED
        value = parameters[name]
        explored[name] = (
            sample(distribution, generator) if resample else perturbed(value, distribution, generator)
        )
    return explored


def perturbed(value: Any, distribution: Distribution, generator: random.Random) -> Any:
    """Return a perturbed value: the previous or next value of a choice; 0.8 or 1.2 times a number on a
    logarithmic scale; a number on a linear scale minus or plus a tenth of the range."""
    if isinstance(distribution, Choice):
        return _neighbour(value, distribution, generator)
    increase = generator.random() >= 0.5
    if distribution.log:
        moved = value * FACTORS[increase]
    else:
        moved = value + (1 if increase else -1) * PART * (distribution.high - distribution.low)
    if distribution.whole:
        moved = max(value + 1, round(moved)) if increase else min(value - 1, round(moved))
    return _clip(moved, distribution)


def sample(distribution: Distribution, generator: random.Random) -> Any:
    """Return a random value."""
    if isinstance(distribution, Choice):
        return generator.choice(distribution.values)
    low, high = distribution.low, distribution.high
    if distribution.whole and not distribution.log:
        return generator.randint(int(low), int(high))
    if distribution.log:
        value = math.exp(generator.uniform(math.log(low), math.log(high)))
    else:
        value = generator.uniform(low, high)
    return _clip(round(value) if distribution.whole else value, distribution)


def _neighbour(value: Any, distribution: Choice, generator: random.Random) -> Any:
    values = distribution.values
    index = next(i for i, choice in enumerate(values) if repr(choice) == repr(value))
    neighbours = [values[i] for i in (index - 1, index + 1) if 0 <= i < len(values)]
    return generator.choice(neighbours) if neighbours else value


def _clip(value: float, distribution: Range) -> float:
    bounded = min(max(value, distribution.low), distribution.high)
    return int(bounded) if distribution.whole else float(bounded)


def _proposal(parameters: dict[str, Any], space: Space) -> Proposal:
    return Proposal(
        parameters,
        parameters,
        {name: to_json(distribution) for name, distribution in space.parameters.items()},
    )


class Promotion:
    """Decides which trial of a sweep continues to the next rung, and when a new trial begins."""

    def __init__(self, plan: SweepPlan) -> None:
        self._plan = plan
        self._exhausted = False

    def next(self, trials: Sequence[Trial]) -> Proposal | NextSegment | None:
        for rung in reversed(range(len(self._plan.stops) - 1)):
            if (best := self._promoted(trials, rung)) is not None:
                return _to_next_rung(best)
        if len(trials) < self._plan.request.trials and not self._exhausted:
            proposal = self._plan.decisions(trials).propose()
            if proposal is not None:
                return proposal
            self._exhausted = True
        last = self._last(trials)
        return None if last is None else _to_next_rung(last)

    def _promoted(self, trials: Sequence[Trial], rung: int) -> Trial | None:
        """Return the best trial that waits at a rung and is among the best third there."""
        ranked = self._ranked([trial for trial in trials if trial.segment(rung) is not None], rung)
        best = [trial for trial in ranked[: len(ranked) // FACTOR] if _waits_at(trial, rung)]
        return best[0] if best else None

    def _last(self, trials: Sequence[Trial]) -> Trial | None:
        """Return the best trial of the highest rung if no other work remains and no trial is complete. With
        few trials, the best third of a rung may be empty."""
        waiting = [trial for trial in trials if trial.state is TrialState.WAITING]
        if not waiting or any(trial.active or trial.state is TrialState.COMPLETED for trial in trials):
            return None
        rung = max(trial.schedule[-1].place for trial in waiting)
        return self._ranked([trial for trial in waiting if _waits_at(trial, rung)], rung)[0]

    def _ranked(self, trials: Sequence[Trial], rung: int) -> list[Trial]:
        sign = -1 if self._plan.request.mode == "max" else 1

        def value(trial: Trial) -> float:
            segment = trial.segment(rung)
            return 0.0 if segment is None or segment.value is None else segment.value

        return sorted(trials, key=lambda trial: (sign * value(trial), trial.number))


def _waits_at(trial: Trial, rung: int) -> bool:
    """Return whether a trial has completed a rung and may continue: also after the sweep has ended, because
    resuming may add trials."""
    waits = trial.state in (TrialState.WAITING, TrialState.PRUNED)
    return waits and trial.schedule[-1].place == rung


def _to_next_rung(trial: Trial) -> NextSegment:
    place = trial.schedule[-1].place
    return NextSegment(trial.number, place + 1, trial.proposal, SegmentSource(trial.number, place))
