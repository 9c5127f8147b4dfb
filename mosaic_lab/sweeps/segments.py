"""Segments of trials: each trains to a step and saves a checkpoint, from which another segment continues.

Two kinds of sweeps use segments and decide only at their ends: population-based training, and the ASHA that
promotes trials instead of stopping them. Their decisions depend only on the sweep's log (`population`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from mosaic_lab.sweeps.request import POPULATION, SweepRequest
from mosaic_lab.sweeps.space import Space
from mosaic_lab.sweeps.trials import NextSegment, Proposal, Trial, TrialSegment
from mosaic_lab.validation import Problems

PROMOTION = "asha-promotion"
"""The pruner that trains trials in segments, as the sampler `POPULATION` does."""
FACTOR = 3
"""Reduction factor: about one in three trials that reach a rung of ASHA or Hyperband, at a ninth and a third
of the steps, continues to the next."""
MAX_RUNS = 10_000
"""Maximum number of runs of all trials: each segment has one per seed."""


class SegmentScheduler(Protocol):
    """Decides which segment of which trial a sweep trains next."""

    def next(self, trials: Sequence[Trial]) -> Proposal | NextSegment | None:
        """Return the proposal of a new trial, or the next segment of one of ``trials``; None if neither is
        due yet, or at the end."""


def population_stops(total: int, interval: int) -> tuple[int, ...]:
    """Return the steps at which a population's segments end; the last segment is up to twice as long."""
    return (*(interval * index for index in range(1, total // interval)), total)


def promotion_stops(total: int) -> tuple[int, ...]:
    """Return the rungs of ASHA: a ninth, a third and all of the steps."""
    return tuple(dict.fromkeys(max(1, total // share) for share in (FACTOR**2, FACTOR, 1)))


def lineage(trials: Sequence[Trial], trial: Trial) -> list[tuple[int, TrialSegment]]:
    """Return the segments that led to a trial's newest checkpoint, in order, each with its trial's number;
    empty without a checkpoint."""
    ancestors: list[tuple[int, TrialSegment]] = []
    number, segment = trial.number, next(reversed(trial.schedule), None)
    while segment is not None:
        ancestors.append((number, segment))
        if (source := segment.source) is None:
            break
        number, segment = source.trial, trials[source.trial].segment(source.place)
    return ancestors[::-1]


def checked_stops(
    request: SweepRequest,
    seeds: int,
    space: Space | None,
    capabilities: Mapping[str, Any],
    problems: Problems,
) -> tuple[int, ...]:
    """Return the steps at which segments end, empty if trials are trained as a whole; add any problems.

    ``seeds`` is the number of seeds per trial; ``capabilities`` are the worker's `WorkerCapabilities` as
    plain data.
    """
    population, promotion = request.sampler == POPULATION, request.chosen_pruner == PROMOTION
    if not population and request.interval is not None:
        problems.add("interval", f'interval={request.interval!r}: only sampler="{POPULATION}" takes one')
    if not (population or promotion):
        return ()
    if population:
        _check_population(request, space, problems)
    if request.training.resume_from is not None:
        problems.add("resume_from", "resume_from: trials in segments begin at step 0; leave it out")
    _check_algorithm(request, space, capabilities, problems)
    stops = _stops(request, problems)
    if (runs := request.trials * seeds * len(stops)) > MAX_RUNS:
        texts = f"{request.trials:,} trials × {seeds:,} seeds × {len(stops):,} segments are {runs:,} runs"
        problems.add("interval", f"{texts}; the maximum is {MAX_RUNS:,}")
    return stops


def _check_population(request: SweepRequest, space: Space | None, problems: Problems) -> None:
    if request.chosen_pruner != "none":
        problems.add(
            "pruner", f'pruner={request.chosen_pruner!r}: sampler="{POPULATION}" needs pruner="none"'
        )
    if request.trials == 1:
        problems.add("trials", "trials=1: a population needs at least 2 members")
    if space is not None and space.code is not None:
        text = f'sampler="{POPULATION}" needs a table of parameters as search=, not a function'
        problems.add("search", text)


def _check_algorithm(
    request: SweepRequest, space: Space | None, capabilities: Mapping[str, Any], problems: Problems
) -> None:
    """Add a problem if the worker does not support training the algorithm in segments."""
    algorithm = request.training.algorithm
    if algorithm not in capabilities.get("algorithms", ()):
        return  # the worker itself refuses it
    subject = f"{request.training.worker} {algorithm}"
    bound = capabilities.get("resume_bound", {}).get(algorithm)
    if bound is None:
        text = (
            f"{subject}: its worker does not declare that trainings can end and resume at given steps "
            "(resume_bound in its capabilities), which trials in segments need"
        )
        problems.add("algorithm", text)
    elif request.sampler == POPULATION:
        for name in space.parameters if space is not None else ():
            if reason := bound.get(name) or bound.get("*"):
                text = f"search[{name!r}]: a resumed {subject} cannot change it: {reason}"
                problems.add(f"search.{name}", text)


def _stops(request: SweepRequest, problems: Problems) -> tuple[int, ...]:
    total = request.training.total_timesteps
    if total is None:
        return ()  # already a problem of every sweep
    if request.sampler != POPULATION:
        return promotion_stops(total)
    interval = request.interval
    if interval is not None and interval <= total // 2:
        return population_stops(total, interval)
    if interval is None:
        problems.add("interval", "interval: give the steps after which members are compared")
    else:
        problems.add(
            "interval",
            f"interval={interval}: must be 1 to {total // 2:,}, half of the total, for at least two segments",
        )
    return ()
