"""The main loop of a sweep's process: propose trials, start their runs, record their ends.

Every decision is logged before it is carried out, so a killed sweep continues where it left off; its trials
keep running in the meantime. `WholeTrials` trains each trial as a whole, with one run per seed; a pruner
stops trials that fall behind, and a trial stopped with its sweep is continued by new runs. `SegmentedTrials`
trains in segments, with one run per seed and segment; running trials are never stopped.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mosaic_contract.heartbeat import Heartbeats
from mosaic_contract.signals import signals_held
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.errors import MosaicError
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.run_process import GRACE_SECONDS, RunAborted, Runner
from mosaic_lab.sweeps.decisions import REPORTS
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.population import Population, Promotion
from mosaic_lab.sweeps.request import POPULATION
from mosaic_lab.sweeps.segments import SegmentScheduler
from mosaic_lab.sweeps.trial_runs import TrialRuns, new_run_ids
from mosaic_lab.sweeps.trials import (
    STOPPED,
    NextSegment,
    Proposal,
    SavedCheckpoint,
    Trial,
    TrialState,
    TrialWriter,
)
from mosaic_lab.telemetry.column_cache import ColumnCache

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.25
FIRST_FAILURES = 5
"""Number of trials that must all fail at the start for the sweep to end early."""


class SweepAborted(RunAborted):
    """Raised if further trials would fail too, or if no trial has completed."""

    error_type = "TrialsFailed"


class Result(NamedTuple):
    """The outcome of a trial's runs: its state with the reason, its value, the value of each seed, and their
    last step."""

    state: TrialState
    reason: str
    value: float | None
    values: Mapping[int, float]
    step: int


class SweepRunner(Runner, ABC):
    """Runs ``plan`` for the sweep ``sweep_id`` in the store of ``supervisor``. ``log`` has earlier trials."""

    def __init__(
        self, plan: SweepPlan, sweep_id: str, supervisor: Supervisor, log: TrialWriter, telemetry: Telemetry
    ) -> None:
        self._plan = plan
        self._sweep_id = sweep_id
        self._supervisor = supervisor
        self._log = log
        self._telemetry = telemetry
        self._cache = ColumnCache()
        self._live = [self._runs_of(trial) for trial in log.trials if trial.active]

    def run(self) -> None:
        """Run the sweep until every trial has ended. Raises MosaicError, ConfigurationError and, after
        stopping the other trials, SweepAborted."""
        with Heartbeats(self._telemetry):
            try:
                self._follow()
            except SweepAborted:
                self.stop(time.monotonic() + self._plan.training.request.grace_seconds + GRACE_SECONDS)
                raise

    def _follow(self) -> None:
        while True:
            with signals_held():  # an interrupted start would stop a run that should continue
                self._look()
            if not self._live:
                break
            time.sleep(POLL_SECONDS)
        trials = self._log.trials
        if not any(trial.state is TrialState.COMPLETED for trial in trials):
            last = trials[-1]
            raise SweepAborted(f"none of {len(trials)} trials completed; the last: {last.reason}")

    def _look(self) -> None:
        ended = [runs for runs in self._live if runs.finished]
        self._record_began()
        self._watch()  # the telemetry of ended runs is complete now
        if not self._plan.request.rounds or len(ended) == len(self._live):
            for runs in ended:
                self._live.remove(runs)
                self._settle(runs)
        self._start()

    def _record_began(self) -> None:
        for runs in self._live:
            if runs.trial.state is TrialState.QUEUED and (began := runs.began) is not None:
                self._log.begin(runs.trial, began)

    @abstractmethod
    def _watch(self) -> None:
        """Process the trials' intermediate values."""

    def stop(self, deadline: float) -> None:
        """Stop all live trials and record their ends, by the monotonic time ``deadline``."""
        for runs in self._live:
            runs.stop()
        while not all(runs.settled for runs in self._live) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS / 5)
        self._record_began()
        for runs in self._live:
            if runs.settled:
                self._record_stopped(runs)
        self._live = []

    def _record_stopped(self, runs: TrialRuns) -> None:
        result = Result(*runs.result(), runs.step)
        cancelled = result.state is not TrialState.COMPLETED or runs.unstarted
        if cancelled and not runs.trial.pruned:
            self._log.end(runs.trial, *result._replace(state=TrialState.CANCELLED, reason=STOPPED))
        else:
            self._record(runs, result._replace(reason=""))

    # ------------------------------------------------------------------ starting

    def _start(self) -> None:
        for _ in range(self._plan.request.at_once):  # runs that end meanwhile are recorded first
            if (next_run := self._next()) is None:
                return
            runs, seed = next_run
            try:
                runs.start(seed)
            except MosaicError as error:
                raise MosaicError(f"trial {runs.trial.number} could not be started: {error}") from error

    def _next(self) -> tuple[TrialRuns, int] | None:
        """Return the next run to start, preferring trials already begun; None if no run is due yet.

        At most as many runs may wait for the evaluation of their checkpoints as may train at once.
        """
        busy = max(sum(runs.alive for runs in self._live), sum(runs.evaluating for runs in self._live))
        if busy >= self._plan.request.at_once:
            return None
        for runs in self._live:
            if runs.unstarted:
                return runs, runs.unstarted[0]
        if self._plan.request.rounds and self._live:
            return None
        for _ in range(self._plan.request.at_once if self._plan.request.rounds else 1):
            if (trial := self._propose()) is None:
                break
            self._live.append(self._runs_of(trial))
        return next(((runs, runs.unstarted[0]) for runs in self._live if runs.unstarted), None)

    @abstractmethod
    def _propose(self) -> Trial | None:
        """Record the next proposal and return its trial; None if no proposal is due yet."""

    def _runs_of(self, trial: Trial) -> TrialRuns:
        return TrialRuns(trial, self._plan, self._sweep_id, self._supervisor, self._cache)

    # ------------------------------------------------------------------ ends

    def _settle(self, runs: TrialRuns) -> None:
        """Record ended trials. Raises SweepAborted."""
        self._record(runs, Result(*runs.result(), runs.step))
        trials = self._log.trials
        if (reason := runs.missing_metric) and all(
            trial.value is None and not trial.reports for trial in trials
        ):
            raise SweepAborted(f"trial {runs.trial.number} was trained, but {reason}")
        ended = [trial for trial in trials if not trial.alive]
        if len(ended) == FIRST_FAILURES and all(trial.state is TrialState.FAILED for trial in ended):
            raise SweepAborted(f"the first {FIRST_FAILURES} trials failed; the last: {runs.trial.reason}")

    @abstractmethod
    def _record(self, runs: TrialRuns, result: Result) -> None:
        """Record the end of a trial's runs."""

    def _report(self, value: float | None, done: int) -> None:
        """Report the newest value and the best so far, after ``done`` parts."""
        values = [
            trial.value
            for trial in self._log.trials
            if trial.state is TrialState.COMPLETED and trial.value is not None
        ]
        best = (max if self._plan.request.mode == "max" else min)(values) if values else None
        metrics = {
            name: number for name, number in {"value": value, "best": best}.items() if number is not None
        }
        self._telemetry.metrics(done, metrics)


class WholeTrials(SweepRunner):
    """The runner of a sweep without segments; arguments as in `SweepRunner`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # Trials that were stopped after the sweep's process had ended.
        unnoticed = [runs for runs in self._live if runs.cancelled]
        stopped = {runs.trial.number for runs in unnoticed}
        self._live = [runs for runs in self._live if runs not in unnoticed] + [
            self._resumed(trial) for trial in self._log.trials if trial.stopped or trial.number in stopped
        ]
        self._decisions = self._plan.decisions(self._log.trials)
        self._exhausted = False
        for runs in self._live:
            if runs.trial.pruned:
                runs.stop()  # decided, but perhaps not carried out

    def _resumed(self, trial: Trial) -> TrialRuns:
        """Record that a trial cancelled by a stop continues, and return its runs."""
        runs, saved = self._runs_of(trial).further()
        reason = ", ".join(self._resumption_text(seed, saved.get(seed)) for seed in runs)
        if len(saved) < len(runs):
            logger.warning("Trial %d continues after the stop: %s.", trial.number, reason)
        self._log.resume(trial, runs, saved, reason)
        return self._runs_of(trial)

    def _resumption_text(self, seed: int, saved: SavedCheckpoint | None) -> str:
        if saved is not None:
            return f"seed {seed} resumed from step {saved.step:,}"
        training = self._plan.training
        why = (
            "no checkpoint was saved"
            if self._plan.resumable
            else f"{training.worker} {training.config['algorithm']} cannot resume"
        )
        return f"seed {seed} started over: {why}"

    def _propose(self) -> Trial | None:
        """Record a new trial."""
        if self._exhausted or len(self._log.trials) >= self._plan.request.trials:
            return None
        proposal = self._decisions.propose()
        if proposal is None:
            self._exhausted = True
            return None
        return self._log.propose(proposal, new_run_ids(self._plan))

    def _watch(self) -> None:
        """Report the trials' new intermediate values and stop trials that fall behind."""
        for runs in self._live:
            runs.read()
        for runs, step in self._due_reports():
            if runs.trial.pruned or (value := runs.value_at(step)) is None:
                continue
            prune, rungs = self._decisions.report(runs.trial.number, step, value)
            # In rounds, decisions do not depend on a trial's speed, and so not on whether it has ended.
            prune = prune and (self._plan.request.rounds or not runs.finished)
            self._log.report(runs.trial, step, value, rungs, prune)
            if prune:
                runs.stop()

    def _due_reports(self) -> Iterator[tuple[TrialRuns, int]]:
        """Yield due reports, step by step. In rounds, a step is due once all trials of the round have reached
        it or have ended, so that decisions do not depend on their speed."""
        total = self._plan.total_timesteps
        for report in range(1, REPORTS):
            step = max(1, total * report // REPORTS)
            reached = [runs.reached(step) or runs.trial.pruned for runs in self._live]
            if self._plan.request.rounds and not all(reached):
                return
            for runs, has_reached in zip(self._live, reached, strict=True):
                if has_reached and step > max(runs.trial.reports, default=0):
                    yield runs, step

    def _record(self, runs: TrialRuns, result: Result) -> None:
        self._log.end(runs.trial, *result)
        self._decisions.end(runs.trial)
        if result.value is not None and result.state in (TrialState.COMPLETED, TrialState.PRUNED):
            self._report(result.value, sum(not trial.alive for trial in self._log.trials))


class SegmentedTrials(SweepRunner):
    """The runner of a sweep with segments; arguments as in `SweepRunner`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        scheduler_class = Population if self._plan.request.sampler == POPULATION else Promotion
        self._scheduler: SegmentScheduler = scheduler_class(self._plan)

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
        following = stopped or self._scheduler.next(trials)
        if following is None:
            return None
        stops, runs = self._plan.stops, new_run_ids(self._plan)
        if isinstance(following, Proposal):
            return self._log.propose(following, runs, stop=stops[0])
        source = following.source
        earlier = None if source is None else trials[source.trial].segment(source.place)
        checkpoints = {} if earlier is None else earlier.saved
        return self._log.propose_segment(following, stops[following.place], runs, checkpoints)

    def _record(self, runs: TrialRuns, result: Result) -> None:
        trial = runs.trial
        if result.state is TrialState.COMPLETED and trial.segments[-1].stop < self._plan.stops[-1]:
            saved, missing = runs.checkpoints()
            if not missing and result.value is not None:
                self._log.end_segment(trial, result.value, result.values, saved)
            else:
                reason = f"seed {missing[0]} saved no checkpoint to continue from"
                self._log.end(trial, *result._replace(state=TrialState.FAILED, reason=reason, value=None))
        else:
            self._log.end(trial, *result)
        if trial.value is not None:
            self._report(trial.value, self._plan.done(self._log.trials))


def _repeated(trial: Trial) -> NextSegment:
    stopped = trial.segments[-1]
    return NextSegment(trial.number, stopped.place, trial.proposal, stopped.source)
