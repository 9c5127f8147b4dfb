"""The runs of a trial in progress, one per seed: started exactly once, followed, and their metric read."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from mosaic_contract.config import nearest
from numpy.typing import NDArray

from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.events import EVALUATED
from mosaic_lab.keeper.states import State
from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.runs.checkpoint_runs import CheckpointPlayers, checked_evaluation, start_background_run
from mosaic_lab.runs.checkpoints import EVALUATIONS, background_runs, newest_intact
from mosaic_lab.runs.run_labels import default_label, new_run_id
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.trials import SavedCheckpoint, Trial, TrialState
from mosaic_lab.telemetry.column_cache import ColumnCache
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metrics import RETURN_NAMES

logger = logging.getLogger(__name__)

_NAMED = 20  # metrics in a message
WINDOW = 20
"""Number of points, such as episodes, in the moving average of the metric."""


def new_run_ids(plan: SweepPlan) -> dict[int, str]:
    """Return a run id for each seed of a new trial."""
    training = plan.training
    return {seed: new_run_id(training.worker, {**training.config, "seed": seed}) for seed in plan.seeds}


class TrialRuns:
    """The runs of ``trial``, of the sweep ``sweep_id``."""

    def __init__(
        self, trial: Trial, plan: SweepPlan, sweep_id: str, supervisor: Supervisor, cache: ColumnCache
    ) -> None:
        self.trial = trial
        self.runs: dict[int, Run] = {}
        """The started runs, by seed."""
        self._plan = plan
        self._sweep_id = sweep_id
        self._supervisor = supervisor
        self._cache = cache
        self._followers: dict[int, MetricFollower] = {}
        self._evaluators: dict[int, Run] = {}
        """The runs that evaluate the checkpoints of the runs, by seed."""
        for seed, run_id in trial.runs.items():
            run = Run(supervisor.store.root / run_id)
            if not run.path.is_dir():
                continue
            if run.state is State.LOST and run.status.keeper_pid is None:
                run.folder.remove()  # interrupted start: no worker was started
                continue
            self._follow(seed, run)

    @property
    def unstarted(self) -> list[int]:
        """The seeds whose runs have yet to be started, in order."""
        return [] if self.trial.pruned else [seed for seed in self.trial.runs if seed not in self.runs]

    @property
    def alive(self) -> int:
        """The number of live runs, without those that evaluate checkpoints."""
        return sum(not run.finished for run in self.runs.values())

    @property
    def evaluating(self) -> int:
        """The number of ended runs whose checkpoints are still being evaluated."""
        return sum(run.finished and not self._settled(seed) for seed, run in self.runs.items())

    @property
    def settled(self) -> bool:
        """Whether all runs have ended, including those that evaluate checkpoints."""
        return all(map(self._settled, self.runs))

    def _settled(self, seed: int) -> bool:
        evaluator = self._evaluators.get(seed)
        return self.runs[seed].finished and (evaluator is None or evaluator.finished)

    @property
    def began(self) -> float | None:
        """The time at which a worker of a queued trial was started, in Unix seconds; None before."""
        queued = self.trial.idle_since or 0.0  # runs of seeds that are already trained began earlier
        history = (change for run in self.runs.values() for change in run.status.history)
        starts = [change.timestamp for change in history if change.state in (State.STARTING, State.RUNNING)]
        return min((start for start in starts if start >= queued), default=None)

    @property
    def cancelled(self) -> bool:
        """Whether a run was stopped, but not by the pruner, and none is alive."""
        stopped = any(run.state is State.CANCELLED for run in self.runs.values())
        return stopped and not self.alive and not self.trial.pruned

    @property
    def _pruned(self) -> str:
        return f"pruned at step {max(self.trial.reports):,}"

    @property
    def finished(self) -> bool:
        """Whether every run has ended, or will not be started."""
        return not self.unstarted and self.settled

    def start(self, seed: int) -> None:
        """Start the run of a seed. Raises MosaicError and ConfigurationError."""
        trial, training = self.trial, self._plan.training
        training_label = default_label(training.worker, {**training.config, "seed": None})
        group, label = f"{self._sweep_id}-trial-{trial.number}", f"{training_label} trial {trial.number}"
        sweep_fields: dict[str, Any] = {"id": self._sweep_id, "trial": trial.number}
        limits: dict[str, Any] = {}
        if trial.segments:
            segment = trial.segments[-1]
            sweep_fields["segment"] = segment.place
            group, label = f"{group}-segment-{segment.place}", f"{label} segment {segment.place}"
            limits["stop_at"] = segment.stop
            if seed in segment.resumed:
                limits["resume_from"] = str(self._supervisor.store.root / segment.resumed[seed])
        elif seed in trial.resumed:
            limits["resume_from"] = str(self._supervisor.store.root / trial.resumed[seed])
        run = training.start(
            self._supervisor,
            seed,
            trial.hyperparameters,
            group=group if len(trial.runs) > 1 else None,
            sweep=sweep_fields,
            run_id=trial.runs[seed],
            label=f"{label} seed {seed}",
            **limits,
        )
        self._follow(seed, run)

    def stop(self) -> None:
        """Stop all live runs, without waiting."""
        for run in (*self.runs.values(), *self._evaluators.values()):
            try:
                run.stop(wait=False, reason=self._pruned if self.trial.pruned else "")
            except MosaicError as error:
                logger.warning("run %s could not be stopped: %s", run.id, error)

    @property
    def step(self) -> int:
        """The last step that the runs have reported."""
        return max((run.step or 0 for run in self.runs.values()), default=0)

    def read(self) -> None:
        """Read new telemetry of the runs."""
        for seed, follower in self._followers.items():
            try:
                follower.read()
            except OSError as error:
                logger.warning("the telemetry of run %s cannot be read: %s", self.runs[seed].id, error)

    def reached(self, step: int) -> bool:
        """Whether every run has a value at or after ``step``, or has ended."""
        return not self.unstarted and all(
            self._settled(seed) or self._followers[seed].step >= step for seed in self.runs
        )

    def value_at(self, step: int) -> float | None:
        """Return the combined value of all seeds at a step; None if any seed has none."""
        values = [follower.value(step) for follower in self._followers.values()]
        reported = [value for value in values if value is not None]
        if not reported or len(reported) < len(values):
            return None
        return aggregated(reported, self._plan.request.aggregate)

    def result(self) -> tuple[TrialState, str, float | None, Mapping[int, float]]:
        """Return the outcome of a finished trial: state, reason, value and the value of each seed."""
        self.read()
        end = max(self.trial.reports) if self.trial.pruned else math.inf
        newest = {seed: follower.value(end) for seed, follower in self._followers.items()}
        values = {seed: value for seed, value in newest.items() if value is not None}
        value = aggregated(values.values(), self._plan.request.aggregate) if values else None
        if self.trial.pruned:
            return TrialState.PRUNED, self._pruned, self.trial.reports[int(end)], values
        for seed, run in self.runs.items():
            if run.trained:
                continue
            if run.state is State.CANCELLED:
                return TrialState.CANCELLED, f"seed {seed}: {run.reason}", value, values
            return TrialState.FAILED, f"seed {seed} {run.state}: {run.reason}", None, values
        for seed, evaluator in self._evaluators.items():
            if evaluator.state is State.COMPLETED:
                continue
            reason = f"seed {seed}: evaluation {evaluator.state}: {evaluator.reason}"
            if evaluator.state in (State.FAILED, State.LOST):
                return TrialState.FAILED, reason, None, values
            return TrialState.CANCELLED, reason, value, values
        if reason := self.missing_metric:
            return TrialState.FAILED, reason, None, values
        return TrialState.COMPLETED, "", value, values

    @property
    def missing_metric(self) -> str:
        """A sentence about a `trained` run that did not report the metric; empty if there is none."""
        for seed, follower in self._followers.items():
            if follower.value() is None and self.runs[seed].trained:
                names, metric = follower.names[:_NAMED], self._plan.metric
                near = nearest(metric, names) or "; it reported none"
                return f"run {self.runs[seed].id} never reported the metric {metric!r}{near}"
        return ""

    def further(self) -> tuple[dict[int, str], dict[int, SavedCheckpoint]]:
        """Return how a stopped trial continues: a new run id for each seed not yet `trained`, and the
        checkpoints that these runs resume from, if available and supported."""
        stopped = [seed for seed, run in self.runs.items() if not run.trained]
        ids = new_run_ids(self._plan)
        newest = ((seed, self._newest(seed)) for seed in stopped if self._plan.resumable)
        checkpoints = {seed: checkpoint for seed, checkpoint in newest if checkpoint}
        return {seed: ids[seed] for seed in stopped}, checkpoints

    def _newest(self, seed: int) -> SavedCheckpoint | None:
        """Return the newest intact checkpoint saved by a seed's runs before the end of training."""
        saved = [
            checkpoint
            for checkpoint in self.runs[seed].checkpoints
            if checkpoint.step < self._plan.total_timesteps
        ]
        newest, note = newest_intact(saved)
        if note:
            logger.warning("%s", note)
        if newest is not None:
            return SavedCheckpoint(os.path.relpath(newest.path, self._supervisor.store.root), newest.step)
        former = self.trial.former.get(seed)
        path = self.trial.resumed.get(seed)
        return SavedCheckpoint(path, former[-1].kept) if former and path is not None else None

    def checkpoints(self) -> tuple[dict[int, str], list[int]]:
        """Return each seed's newest checkpoint, relative to the run store, and the seeds without one."""
        newest = {seed: run.checkpoints for seed, run in self.runs.items()}
        root = self._supervisor.store.root
        saved = {seed: os.path.relpath(paths[-1].path, root) for seed, paths in newest.items() if paths}
        return saved, [seed for seed in newest if seed not in saved]

    def _follow(self, seed: int, run: Run) -> None:
        former = self.trial.former.get(seed, ())
        root = self._supervisor.store.root
        before = [(Run(root / run.run), run.kept) for run in former if (root / run.run).is_dir()]
        self.runs[seed] = run
        self._followers[seed] = MetricFollower([*before, (run, math.inf)], self._plan.metric, self._cache)
        if (players := self._plan.players) is not None and (run.alive or run.trained):
            self._evaluators[seed] = self._evaluator(run, players)

    def _evaluator(self, run: Run, players: CheckpointPlayers) -> Run:
        """Return the run that evaluates the checkpoints of ``run``: the newest, or a new one if that was
        stopped or killed."""
        newest = [Run(folder) for folder in background_runs(run.folder, EVALUATIONS)][-1:]
        if newest and newest[0].state not in (State.STOPPING, State.CANCELLED, State.LOST):
            return newest[0]
        request = self._plan.training.request
        return start_background_run(
            self._supervisor,
            run,
            players,
            EVALUATIONS,
            env_vars=request.env_vars,
            pass_env_vars=request.pass_env_vars,
            evaluate=checked_evaluation(request.evaluate or {}),
        )


class MetricFollower:
    """One metric of one training. ``runs`` are its runs in order, each with the step up to which it counts.

    ``episode_return`` is the return, under whatever name the worker reports it. Evaluations of checkpoints
    are already means, so only the newest counts.
    """

    def __init__(self, runs: Sequence[tuple[Run, float]], metric: str, cache: ColumnCache) -> None:
        self._metric = metric
        self._window = 1 if metric.startswith(EVALUATED) else WINDOW
        # A resumed run supersedes part of the previous one.
        limits = np.minimum.accumulate([step for _, step in reversed(runs)])[::-1]
        self._parts = [
            (run, RunColumns(run.path, cache), float(limit))
            for (run, _), limit in zip(runs, limits, strict=True)
            if limit > 0
        ]
        self._steps: NDArray[np.float64] = np.empty(0)
        self._values: NDArray[np.float64] = np.empty(0)

    def read(self) -> None:
        """Read new telemetry. Raises OSError if it cannot be read."""
        steps, values = [np.empty(0)], [np.empty(0)]
        candidates = RETURN_NAMES if self._metric == RETURN_NAMES[0] else (self._metric,)
        for run, columns, limit in self._parts:
            while columns.read(lambda run=run: run.finished):  # type: ignore[misc]
                pass
            names = columns.names
            for piece in columns.pieces(next((name for name in candidates if name in names), self._metric)):
                counts = piece.step <= limit
                steps.append(piece.step[counts])
                values.append(piece.value[counts])
        self._steps, self._values = np.concatenate(steps), np.concatenate(values)

    @property
    def step(self) -> float:
        """The step of the newest point; 0 before the first."""
        return float(self._steps.max()) if len(self._steps) else 0.0

    @property
    def names(self) -> list[str]:
        """The metrics reported by the newest run."""
        return self._parts[-1][1].names

    def value(self, step: float = math.inf) -> float | None:
        """Return the value at ``step``: the mean of the last 20 finite values; None if there are none."""
        values = self._values[(self._steps <= step) & np.isfinite(self._values)][-self._window :]
        return float(values.mean()) if len(values) else None


def aggregated(values: Iterable[float], aggregate: str) -> float:
    """Return the mean of the values of a trial's seeds, or their interquartile mean, which drops a quarter of
    them, rounded down, at either end.

    It is rounded to 12 digits: means of equal returns over 3 and over 20 episodes differ in the last digits
    and would no longer tie.
    """
    ordered = np.sort(np.array([*values]))
    cut = len(ordered) // 4 if aggregate == "iqm" else 0
    return float(f"{ordered[cut : len(ordered) - cut].mean():.12g}")
