"""The checkpoints of a run, read from its telemetry, and the runs that work with them in the background."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_contract.checkpoints import damage

from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.events import CHECKPOINT_SAVED, EVALUATED, METRICS
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.tail import is_there

if TYPE_CHECKING:
    from mosaic_lab.kernel_policy import Policy

RETURN = f"{EVALUATED}return"
"""The metric with the mean return of a checkpoint's episodes. ``evaluation/return_low`` and
``evaluation/return_high`` are its 95% bootstrap interval; ``evaluation/length`` is the episodes' mean
length."""
FILMS = "films"
"""The name of the worker of runs that film checkpoints."""
EVALUATIONS = "checkpoint-evaluation"
"""The name of the worker of runs that evaluate checkpoints."""
BACKGROUND = (FILMS, EVALUATIONS)


@dataclass(frozen=True)
class Checkpoint:
    """A saved checkpoint, a file or a folder. ``step`` counts environment steps."""

    path: Path
    step: int = 0
    episode: int = 0
    metrics: dict[str, Any] = field(default_factory=dict)
    format: str = ""

    def policy(self, deterministic: bool = True, **options: Any) -> Policy:
        """Return the policy as a function of observations; ``options`` as in `mosaic_lab.policy`."""
        return policy_of(self, deterministic, **options)


def policy_of(source: Any, deterministic: bool, **options: Any) -> Policy:
    """Return the policy of a checkpoint, or of a run's newest one."""
    module = import_module("mosaic_lab.operators.trained_policy")  # built on runs, so imported on use
    policy: Policy = module.policy(source, deterministic, **options)
    return policy


class CheckpointFollower:
    """Follows the checkpoints of the run in ``folder`` during training; each `read` reads only new lines."""

    def __init__(self, folder: RunFolder) -> None:
        from mosaic_lab.telemetry import JsonlFollower

        self._folder = folder
        self._follower = JsonlFollower(folder.telemetry_path)
        self._checkpoints: dict[Path, Checkpoint] = {}

    def read(self) -> list[Checkpoint]:
        """Return the reported checkpoints that still exist, oldest first."""
        return [checkpoint for checkpoint in self.reported() if is_there(checkpoint.path)]

    def reported(self) -> list[Checkpoint]:
        """Return the reported checkpoints, oldest first."""
        from mosaic_lab.telemetry.stream import Health, parse

        for line in self._follower.lines():
            if CHECKPOINT_SAVED.encode() not in line:
                continue
            message = parse(line, Health())
            if message is None or message.event != CHECKPOINT_SAVED:
                continue
            saved = message.payload
            if saved is not None and saved.checkpoint_path:
                path = self._folder.placed(saved.checkpoint_path)
                self._checkpoints.pop(path, None)  # saved again: the newest save replaces the older one
                fields = saved.step or 0, saved.episode, saved.metrics or {}, saved.format
                self._checkpoints[path] = Checkpoint(path, *fields)
        return list(self._checkpoints.values())


def read_checkpoints(folder: RunFolder) -> list[Checkpoint]:
    """Return the reported checkpoints that still exist, oldest first."""
    return CheckpointFollower(folder).read()


def newest_intact(saved: Sequence[Checkpoint]) -> tuple[Checkpoint | None, str]:
    """Return the newest intact checkpoint, or None, and a sentence about newer, damaged ones."""
    damaged: list[str] = []
    for checkpoint in reversed(saved):
        if not (why := damage(checkpoint.path)):
            instead = f"; resumed from step {checkpoint.step:,} instead" if damaged else ""
            return checkpoint, "; ".join(damaged) + instead
        damaged.append(f"{checkpoint.path} cannot be loaded: {why}")
    return None, "; ".join(damaged)


def mean_returns(folder: RunFolder) -> dict[int, float]:
    """Return the mean return of each evaluated checkpoint, by step."""
    from mosaic_lab.telemetry import JsonlFollower
    from mosaic_lab.telemetry.tables import messages

    evaluations = messages(JsonlFollower(folder.evaluations_path))
    payloads = [message.payload for message in evaluations if message.event == METRICS]
    return {
        payload.step: float(payload.values[RETURN])
        for payload in payloads
        if payload and payload.step is not None and payload.values and RETURN in payload.values
    }


def best_checkpoint(folder: RunFolder) -> Checkpoint:
    """Return the existing checkpoint with the highest mean return. Warns while others wait for their
    evaluation. Raises MosaicError if none has been evaluated."""
    returns, saved = mean_returns(folder), read_checkpoints(folder)
    evaluated = [checkpoint for checkpoint in saved if checkpoint.step in returns]
    pending = ""
    evaluating = (not run.status().state.finished for run in background_runs(folder, EVALUATIONS))
    if len(evaluated) < len(saved) and any(evaluating):
        pending = (
            f"{len(saved) - len(evaluated)} of {len(saved)} checkpoints of run {folder.run_id} are not "
            "evaluated yet: lab.evaluate_checkpoints(run).wait() waits for them"
        )
    if not evaluated:
        raise MosaicError(
            pending
            or f"no checkpoint of run {folder.run_id} has been evaluated: train with evaluate=, or call "
            "lab.evaluate_checkpoints(run)"
        )
    if pending:
        warnings.warn(pending, stacklevel=3)
    return max(evaluated, key=lambda checkpoint: returns[checkpoint.step])


def background_runs(folder: RunFolder, *workers: str) -> list[RunFolder]:
    """Return the folders of the runs of these workers (default: all) that work for the run in ``folder``,
    oldest first."""
    store = folder.path.parent
    siblings = [RunFolder(path) for worker in workers or BACKGROUND for path in store.glob(f"*-{worker}-*")]
    launches = [(run, run.document(run.launch_path)) for run in siblings]
    of_run = [(run, launch) for run, launch in launches if launch.get("parent") == folder.run_id]
    return [run for run, _ in sorted(of_run, key=lambda pair: pair[1].get("created", 0.0))]
