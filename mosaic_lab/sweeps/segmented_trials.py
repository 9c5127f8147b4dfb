"""Sweeps that train trials in segments, one run per seed and segment; running trials are never stopped."""

from __future__ import annotations

from typing import Any

from mosaic_lab.sweeps.population import Population, Promotion
from mosaic_lab.sweeps.request import POPULATION
from mosaic_lab.sweeps.runner import Result, SweepRunner
from mosaic_lab.sweeps.segments import NextSegment, SegmentScheduler
from mosaic_lab.sweeps.trial_runs import TrialRuns, new_run_ids
from mosaic_lab.sweeps.trials import Trial, TrialState


class SegmentedTrials(SweepRunner):
    """The runner of a sweep with segments; arguments as in `SweepRunner`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        plan = self._plan
        self._scheduler: SegmentScheduler = (
            Population(
                plan.space,
                plan.request.trials,
                len(plan.stops),
                plan.request.seed,
                plan.request.mode == "max",
            )
            if plan.request.sampler == POPULATION
            else Promotion(plan)
        )

    def _look(self) -> None:
        super()._look()
        if not self._live:  # no work remains: waiting trials will not continue
            for trial in self._log.trials:
                if trial.state is TrialState.WAITING:
                    reason = f"not promoted at step {trial.schedule[-1].stop:,}"
                    self._log.end(trial, TrialState.PRUNED, reason, trial.value, trial.values, None)

    def _watch(self) -> None:
        """Do nothing: decisions are made only at the ends of segments."""

    def _propose(self) -> Trial | None:
        """Record the next segment: the first cancelled by a stop, else the scheduler's next."""
        trials = self._log.trials
        stopped = next((_repeated(trial) for trial in trials if trial.stopped), None)
        step = stopped or self._scheduler.next(trials)
        if step is None:
            return None
        stop, runs = self._plan.stops[step.place], new_run_ids(self._plan)
        if step.trial is None:
            return self._log.propose(step.proposal, runs, stop=stop)
        source = step.source
        before = None if source is None else trials[source.trial].segment(source.place)
        saved = {} if before is None else before.saved
        return self._log.go_on(step.trial, step.place, stop, step.proposal, runs, source, saved)

    def _record(self, runs: TrialRuns, result: Result) -> None:
        trial = runs.trial
        if result.state is TrialState.COMPLETED and trial.segments[-1].stop < self._plan.stops[-1]:
            saved, missing = runs.checkpoints()
            if not missing and result.value is not None:
                self._log.pause(trial, result.value, result.values, saved)
            else:
                reason = f"seed {missing[0]} saved no checkpoint to continue from"
                self._log.end(trial, *result._replace(state=TrialState.FAILED, reason=reason, value=None))
        else:
            self._log.end(trial, *result)
        if trial.value is not None:
            self._report(trial.value, self._plan.done(self._log.trials))


def _repeated(trial: Trial) -> NextSegment:
    stopped = trial.segments[-1]
    return NextSegment(trial.proposal, trial.number, stopped.place, stopped.source)
