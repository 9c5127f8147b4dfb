"""The work of a sweep's process: it proposes trials, starts their runs, ends those that fall behind.

Every decision is in the log before it is acted on, so that a sweep goes on where a kill ended it; its trials
go on meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from mosaic_contract.signals import signals_held
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.errors import MosaicError
from mosaic_lab.runs import Supervisor
from mosaic_lab.sweeps.decisions import REPORTS, Decisions
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.trial_runs import TrialRuns, new_run_ids
from mosaic_lab.sweeps.trials import Trial, TrialState, TrialWriter
from mosaic_lab.telemetry.column_cache import ColumnCache

POLL_SECONDS = 0.25
STOPPED = "the sweep was stopped"
FIRST_FAILURES = 5
"""Trials that all fail at the beginning end the sweep: the others would too."""


class GaveUp(Exception):
    """Raised when the first trials have all failed."""


class Runner:
    """Carries out ``plan`` for the sweep ``sweep_id`` in the store of ``supervisor``.

    ``log`` has the trials so far. ``pass_env`` are the names of variables that trials are given.
    """

    def __init__(
        self,
        plan: SweepPlan,
        sweep_id: str,
        supervisor: Supervisor,
        log: TrialWriter,
        telemetry: Telemetry,
        pass_env: list[str],
    ) -> None:
        self._plan = plan
        self._sweep_id = sweep_id
        self._supervisor = supervisor
        self._log = log
        self._telemetry = telemetry
        self._pass_env = pass_env
        self._cache = ColumnCache()
        self._decisions = Decisions(
            plan.space,
            seed=plan.seed,
            sampler=plan.sampler,
            pruner=plan.pruner,
            maximize=plan.mode == "max",
            total=plan.total_timesteps,
            trials=log.trials,
        )
        self._exhausted = False
        self._live = [self._runs_of(trial) for trial in log.trials if trial.alive]
        for runs in self._live:
            if runs.trial.pruned:
                runs.stop()  # it was decided, and perhaps not done

    def run(self) -> None:
        """Return when every trial has ended. Raises GaveUp, MosaicError and ConfigurationError."""
        while True:
            with signals_held():  # a start that is interrupted would stop its run, which is to go on
                self._look()
            if not self._live:
                return
            time.sleep(POLL_SECONDS)

    def _look(self) -> None:
        ended = [one for one in self._live if one.finished]
        self._prune()  # what has ended has reports, too
        if not self._plan.rounds or len(ended) == len(self._live):
            for runs in ended:
                self._finish(runs)
        self._start()

    def stop(self, deadline: float) -> None:
        """Stop all trials that go on, and record their ends, by the monotonic time ``deadline``."""
        for runs in self._live:
            runs.stop()
        while any(runs.alive for runs in self._live) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS / 5)
        for runs in self._live:
            if not runs.alive:
                state, _, value, values = runs.result()
                cancelled = state is not TrialState.COMPLETED or runs.unstarted
                if cancelled and not runs.trial.pruned:
                    state = TrialState.CANCELLED
                reason = STOPPED if state is TrialState.CANCELLED else ""
                self._log.end(runs.trial, state, reason, value, values)
        self._live = []

    # ------------------------------------------------------------------ starting

    def _start(self) -> None:
        while (place := self._next()) is not None:
            runs, seed = place
            try:
                runs.start(seed, self._pass_env)
            except MosaicError as error:
                raise MosaicError(f"trial {runs.trial.number} could not be started: {error}") from error

    def _next(self) -> tuple[TrialRuns, int] | None:
        """Return the next run to start, of a new trial where all before are started; None for now."""
        if sum(runs.alive for runs in self._live) >= self._plan.parallel:
            return None
        for runs in self._live:
            if runs.unstarted:
                return runs, runs.unstarted[0]
        if self._plan.rounds and self._live:
            return None
        for _ in range(self._plan.parallel if self._plan.rounds else 1):
            if not self._propose():
                break
        return next(((runs, runs.unstarted[0]) for runs in self._live if runs.unstarted), None)

    def _propose(self) -> bool:
        """Make the next trial, the first of those that a stop had cancelled; whether there is one."""
        stopped = [one for one in self._log.trials if _is_stopped(one)]
        done = sum(not one.replaced for one in self._log.trials) - len(stopped)
        if self._exhausted or done >= self._plan.trials:
            return False
        again = stopped[0] if stopped else None
        proposal = self._decisions.propose(again.parameters if again else None)
        if proposal is None:
            self._exhausted = True
            return False
        trial = self._log.propose(proposal, new_run_ids(self._plan), again.number if again else None)
        self._live.append(self._runs_of(trial))
        return True

    def _runs_of(self, trial: Trial) -> TrialRuns:
        return TrialRuns(trial, self._plan, self._sweep_id, self._supervisor, self._cache)

    # ------------------------------------------------------------------ pruning

    def _prune(self) -> None:
        """Report the values that trials have reached, and stop those that fall behind."""
        for runs in self._live:
            runs.read()
        for runs, step in self._due():
            if runs.trial.pruned or (value := runs.value_at(step)) is None:
                continue
            prune, rungs = self._decisions.report(runs.trial.number, step, value)
            # In rounds what is decided does not depend on how fast a trial was: not on whether it has ended.
            prune = prune and (self._plan.rounds or not runs.finished)
            self._log.report(runs.trial, step, value, rungs, prune)
            if prune:
                runs.stop()

    def _due(self) -> Iterator[tuple[TrialRuns, int]]:
        """Yield what is to be reported, step by step. In rounds a step counts when all trials of the round
        have reached it or have ended before, so that the decisions do not depend on which was faster."""
        total = self._plan.total_timesteps
        for place in range(1, REPORTS):
            step = max(1, total * place // REPORTS)
            reached = [runs.reached(step) or runs.trial.pruned for runs in self._live]
            if self._plan.rounds and not all(reached):
                return
            for runs, there in zip(self._live, reached, strict=True):
                if there and step > max(runs.trial.reports, default=0):
                    yield runs, step

    # ------------------------------------------------------------------ ends

    def _finish(self, runs: TrialRuns) -> None:
        self._live.remove(runs)
        state, reason, value, values = runs.result()
        self._log.end(runs.trial, state, reason, value, values)
        self._decisions.end(runs.trial)
        ended = [one for one in self._log.trials if not one.alive]
        if value is not None and state in (TrialState.COMPLETED, TrialState.PRUNED):
            known = [
                one.value for one in ended if one.state is TrialState.COMPLETED and one.value is not None
            ]
            best = (max if self._plan.mode == "max" else min)(known) if known else None
            shown = {"value": value} | ({} if best is None else {"best": best})
            self._telemetry.metrics(len(ended), shown)
        if len(ended) == FIRST_FAILURES and all(one.state is TrialState.FAILED for one in ended):
            raise GaveUp(f"the first {FIRST_FAILURES} trials failed; the last: {reason}")


def _is_stopped(trial: Trial) -> bool:
    """Whether a stop of the sweep has cancelled a trial, and none has its parameters since."""
    return trial.state is TrialState.CANCELLED and trial.reason == STOPPED and not trial.replaced
