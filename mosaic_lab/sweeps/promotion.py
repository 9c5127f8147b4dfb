"""ASHA (Li et al. 2020) as published: trials pause at a rung, and the best continue from their checkpoints.

Running trials are never stopped. A trial is promoted if it is among the best third of the trials that have
completed its rung so far; otherwise it may be promoted later, after further trials complete the rung.
"""

from __future__ import annotations

from collections.abc import Sequence

from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.segments import FACTOR, NextSegment
from mosaic_lab.sweeps.trials import SegmentSource, Trial, TrialState


class Promotion:
    """Decides which trial of a sweep continues to the next rung, and when a new trial begins."""

    def __init__(self, plan: SweepPlan) -> None:
        self._plan = plan
        self._exhausted = False

    def next(self, trials: Sequence[Trial]) -> NextSegment | None:
        for rung in reversed(range(len(self._plan.stops) - 1)):
            if (best := self._promoted(trials, rung)) is not None:
                return _to_next_rung(best)
        if len(trials) < self._plan.request.trials and not self._exhausted:
            proposal = self._plan.decisions(trials).propose()
            if proposal is not None:
                return NextSegment(proposal)
            self._exhausted = True
        last = self._last(trials)
        return None if last is None else _to_next_rung(last)

    def _promoted(self, trials: Sequence[Trial], rung: int) -> Trial | None:
        """Return the best of the trials that wait at a rung and are among its best third."""
        ranked = self._ranked([trial for trial in trials if trial.segment(rung) is not None], rung)
        best = [trial for trial in ranked[: len(ranked) // FACTOR] if _waits_at(trial, rung)]
        return best[0] if best else None

    def _last(self, trials: Sequence[Trial]) -> Trial | None:
        """Return the best trial of the highest rung if no other work remains and no trial is complete. With
        few trials, the best third of a rung may be empty.
        """
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
    """Whether a trial has completed a rung and may continue. True also after the sweep has ended, because
    resuming may add trials.
    """
    waits = trial.state in (TrialState.WAITING, TrialState.PRUNED)
    return waits and trial.schedule[-1].place == rung


def _to_next_rung(trial: Trial) -> NextSegment:
    place = trial.schedule[-1].place
    return NextSegment(trial.proposal, trial.number, place + 1, SegmentSource(trial.number, place))
