"""Sweeps that train each trial as a whole, with one run per seed; a pruner stops trials that fall behind.

A trial stopped with its sweep is continued by new runs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from mosaic_lab.sweeps.decisions import REPORTS
from mosaic_lab.sweeps.runner import Result, SweepRunner
from mosaic_lab.sweeps.trial_runs import TrialRuns, new_run_ids
from mosaic_lab.sweeps.trials import SavedCheckpoint, Trial, TrialState

logger = logging.getLogger(__name__)


class WholeTrials(SweepRunner):
    """The runner of a sweep without segments; arguments as in `SweepRunner`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        unnoticed = [
            runs for runs in self._live if runs.cancelled
        ]  # stopped after the sweep's process had ended
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
        reason = ", ".join(self._how(seed, saved.get(seed)) for seed in runs)
        if len(saved) < len(runs):
            logger.warning("Trial %d continues after the stop: %s.", trial.number, reason)
        self._log.resume(trial, runs, saved, reason)
        return self._runs_of(trial)

    def _how(self, seed: int, saved: SavedCheckpoint | None) -> str:
        if saved is not None:
            return f"seed {seed} resumed from step {saved.step:,}"
        training = self._plan.training
        why = (
            "no checkpoint was saved"
            if self._plan.resumable
            else f"{training.worker} {training.config['algorithm']} cannot resume"
        )
        return f"seed {seed} began again, as {why}"

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
        for runs, step in self._due():
            if runs.trial.pruned or (value := runs.value_at(step)) is None:
                continue
            prune, rungs = self._decisions.report(runs.trial.number, step, value)
            # In rounds, decisions do not depend on a trial's speed, and so not on whether it has ended.
            prune = prune and (self._plan.request.rounds or not runs.finished)
            self._log.report(runs.trial, step, value, rungs, prune)
            if prune:
                runs.stop()

    def _due(self) -> Iterator[tuple[TrialRuns, int]]:
        """Yield due reports, step by step. In rounds, a step is due once all trials of the round have reached
        it or have ended, so that decisions do not depend on their speed.
        """
        total = self._plan.total_timesteps
        for place in range(1, REPORTS):
            step = max(1, total * place // REPORTS)
            reached = [runs.reached(step) or runs.trial.pruned for runs in self._live]
            if self._plan.request.rounds and not all(reached):
                return
            for runs, there in zip(self._live, reached, strict=True):
                if there and step > max(runs.trial.reports, default=0):
                    yield runs, step

    def _record(self, runs: TrialRuns, result: Result) -> None:
        self._log.end(runs.trial, *result)
        self._decisions.end(runs.trial)
        if result.value is not None and result.state in (TrialState.COMPLETED, TrialState.PRUNED):
            self._report(result.value, sum(not trial.alive for trial in self._log.trials))
