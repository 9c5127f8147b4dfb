"""The main loop of a sweep's process: propose trials, start their runs, record their ends.

Every decision is logged before it is carried out, so that a killed sweep continues where it ended; its trials
keep running meanwhile. The two kinds of sweeps, `whole_trials` and `segmented_trials`, make the decisions.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from mosaic_contract.heartbeat import Heartbeats
from mosaic_contract.signals import signals_held
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.errors import MosaicError
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.run_process import GRACE_SECONDS, RunAborted, Runner
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.trial_log import TrialWriter
from mosaic_lab.sweeps.trial_runs import TrialRuns
from mosaic_lab.sweeps.trials import STOPPED, Trial, TrialState
from mosaic_lab.telemetry.column_cache import ColumnCache

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
    """Runs ``plan`` for the sweep ``sweep_id`` in the store of ``supervisor``.

    ``log`` has the trials so far.
    """

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
        stopping the other trials, SweepAborted.
        """
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
        while any(runs.alive for runs in self._live) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS / 5)
        self._record_began()
        for runs in self._live:
            if not runs.alive:
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
        while (place := self._next()) is not None:
            runs, seed = place
            try:
                runs.start(seed)
            except MosaicError as error:
                raise MosaicError(f"trial {runs.trial.number} could not be started: {error}") from error

    def _next(self) -> tuple[TrialRuns, int] | None:
        """Return the next run to start, preferring trials already begun; None if no run is due yet."""
        if sum(runs.alive for runs in self._live) >= self._plan.request.at_once:
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
        shown = {
            name: number for name, number in {"value": value, "best": best}.items() if number is not None
        }
        self._telemetry.metrics(done, shown)
