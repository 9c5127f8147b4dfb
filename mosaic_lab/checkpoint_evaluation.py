"""The process that evaluates checkpoints: ``python -m mosaic_lab.checkpoint_evaluation --config …``.

It follows one training through its run folder, while it runs and afterwards; see `runs.checkpoint_runner`.

Checkpoints are evaluated in the order of their steps, each by a `Pool` like that of an evaluation. If a
training saves them faster, some of those waiting are skipped, but never the first or the last.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.arenas.replays.kept_episodes import EVALUATION, keep_episodes
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.episode_log import EpisodeLog, Record
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.pool import ARENAS, EvaluationAborted, Pool
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.evaluation.statistics.averages import summary
from mosaic_lab.evaluation.statistics.resampling import Estimate
from mosaic_lab.keeper.events import EVALUATED, METRICS
from mosaic_lab.keeper.files import append_line
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.operators import rl
from mosaic_lab.runs.checkpoint_runner import CheckpointRunner, TrainingEnded, run_in_background
from mosaic_lab.runs.checkpoints import EVALUATIONS, RETURN, Checkpoint, CheckpointFollower, mean_returns
from mosaic_lab.runs.run_process import RunAborted, RunCurtailed
from mosaic_lab.runs.stopping import add_to_reason, end_run

MAX_WAITING = 10
"""Maximum number of checkpoints that wait for their evaluation."""


class CheckpointEvaluator(CheckpointRunner):
    """Evaluates the checkpoints of a training."""

    worker = EVALUATIONS
    later = "lab.evaluate_checkpoints(run) evaluates what it has saved"

    def __init__(self, folder: RunFolder, config: Mapping[str, Any], telemetry: Telemetry) -> None:
        super().__init__(folder, config, telemetry)
        self._settings: Mapping[str, Any] = config["evaluate"]
        self._saved = CheckpointFollower(self.training)
        self._returns = mean_returns(self.training)
        self._settled = set(self._returns)
        self._problem = ""

    def run(self) -> None:
        """Evaluate all checkpoints until the training has ended and none remains. Raises RunAborted if no
        checkpoint could be evaluated, RunCurtailed if there was none, and `TrainingEnded`."""
        self.follow(self._next, self._evaluate, **self._settings)
        if not self._returns and self._problem:
            raise RunAborted(self._problem)
        if not self._settled:
            raise RunCurtailed(
                f"run {self.training.run_id} saved no checkpoint: there is nothing to evaluate"
            )

    def _next(self, ended: bool) -> Checkpoint | None:
        """Return the waiting checkpoint with the lowest step, after skipping some if many wait."""
        saved = sorted(self._saved.read(), key=lambda checkpoint: checkpoint.step)
        waiting = [checkpoint for checkpoint in saved if checkpoint.step not in self._settled]
        if len(waiting) > MAX_WAITING:
            for skipped in waiting[1:-1:2]:
                self._skip(skipped, "skipped: too many checkpoints wait for their evaluation")
        return next(iter(waiting), None)

    def _skip(self, checkpoint: Checkpoint, problem: str) -> None:
        print(f"no evaluation of step {checkpoint.step}: {problem}", flush=True)
        self._settled.add(checkpoint.step)

    def _evaluate(self, checkpoint: Checkpoint) -> None:
        """Play the episodes of a checkpoint, unless another run has evaluated it meanwhile."""
        if checkpoint.step in mean_returns(self.training):
            self._settled.add(checkpoint.step)
            return
        label = f"step {checkpoint.step}"
        try:
            plan = self._plan(checkpoint, label)
            pool = Pool(plan, self.folder.path, self.variables, self.telemetry, (), self.warm)
            try:
                pool.run()
            finally:
                pool.close()
        except (ConfigurationError, EvaluationAborted) as error:
            self._problem = f"{label}: {error}"
            self._skip(checkpoint, str(error))
            return
        log = EpisodeLog(self.folder.telemetry_path).read()
        records = [record for (operator, *_), record in log.items() if operator == label]
        finished = [record for record in records if record["status"] == "ok"]
        episodes = [
            (
                self.folder.path / ARENAS / record["arena"],
                {"seed": record["seed"], "index": record["index"], "complete": record["forfeit"] is None},
            )
            for record in finished
        ]
        keep_episodes(
            self.training.path, checkpoint.step, EVALUATION, plan, episodes, self.config["variables"]
        )
        self._report(checkpoint, finished, len(records))

    def _plan(self, checkpoint: Checkpoint, label: str) -> EvaluationPlan:
        config = self.config
        spec = rl(checkpoint, run_code=True)  # the training has executed it
        if spec.worker != config["worker"]:
            raise ConfigurationError(
                f"{checkpoint.path.name} is read by worker '{spec.worker}', not by '{config['worker']}'"
            )
        env_id, seeds = spec.trained_on or str(config.get("env_id", "")), self._settings["seeds"]
        return EvaluationPlan(
            request=EvaluateRequest(env=env_id, seeds=seeds, on_failure="skip"),
            env_id=env_id,
            settings=dict(spec.env_settings),
            family=config["family"],
            operators={"1": spec},
            lanes={label: {"*": "1"}},
            seeds=seeds,
            pass_env_vars=[],
            arena=config["arena"],
            commands={config["worker"]: config["operator"]},
            parallel=1,
            digests={},
        )

    def _report(self, checkpoint: Checkpoint, records: Sequence[Record], planned: int) -> None:
        """Add the checkpoint's metrics to the training's. End the training if it has reached its goal."""
        if not records:
            self._problem = f"step {checkpoint.step}: all {planned} episodes failed"
            self._skip(checkpoint, self._problem)
            return
        scores = {"policy": [record["return"] for record in records]}
        mean = summary(scores, rng=np.random.default_rng(checkpoint.step))["policy"].mean
        values = {RETURN: mean.value, f"{EVALUATED}length": np.mean([record["steps"] for record in records])}
        if len(records) > 1:
            values |= {f"{RETURN}_low": mean.low, f"{RETURN}_high": mean.high}
        payload = {"step": checkpoint.step, "values": {name: float(value) for name, value in values.items()}}
        line = {
            "event": METRICS,
            "run_id": self.training.run_id,
            "timestamp": time.time(),
            "payload": payload,
        }
        try:
            append_line(self.training.evaluations_path, json.dumps(line).encode())
        except FileNotFoundError:
            raise TrainingEnded(f"run {self.training.run_id} was removed") from None
        shutil.rmtree(self.folder.path / ARENAS, ignore_errors=True)  # otherwise a folder for each checkpoint
        self._settled.add(checkpoint.step)
        self._returns[checkpoint.step] = mean.value
        reached, status = self._reached(mean), self.training.status()
        if not status.state.finished:
            if goal := reached or self._out_of_patience():
                grace = self.training.document(self.training.launch_path).get("grace_seconds", 0.0)
                end_run(self.training, grace, wait=False, goal=goal)
        elif reached and "its goal" not in status.reason:
            note = f"its goal was reached at step {checkpoint.step:,}, evaluated after its end: {reached}"
            add_to_reason(self.training, note)

    def _reached(self, mean: Estimate) -> str:
        """Return a sentence about the goal that this mean return reaches; empty if there is none."""
        for name, reached in (("until", mean.low), ("until_mean", mean.value)):
            goal = self._settings.get(name)
            if goal is not None and reached >= goal:
                interval = f" [{mean.low:.5g}, {mean.high:.5g}]" if math.isfinite(mean.low) else ""
                return f"mean return {mean.value:.5g}{interval}, {name} {goal:g}"
        return ""

    def _out_of_patience(self) -> str:
        """Return since when no mean return has been higher, if that ends the training; otherwise an empty
        string."""
        patience = self._settings.get("patience")
        best = max(self._returns, key=lambda step: self._returns[step])
        if patience is not None and sum(step > best for step in self._returns) >= patience:
            return f"no mean return since step {best:,} was higher than {self._returns[best]:.5g}"
        return ""


if __name__ == "__main__":
    sys.exit(run_in_background("mosaic_lab.checkpoint_evaluation", CheckpointEvaluator, sealed=True))
