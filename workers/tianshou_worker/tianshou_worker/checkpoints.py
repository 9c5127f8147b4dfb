"""Checkpoints: `step-N.pt` with weights, optimisers and counters, `step-N.json` beside it that describes it.

Files load with `weights_only=True`.
"""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import Any

import torch
from mosaic_contract import ConfigError, describe_space
from tianshou import __version__ as upstream_version
from tianshou.algorithm.algorithm_base import Algorithm

from .config import Plan
from .descriptions import FORMAT
from .telemetry import Journal

_COUNTERS = ("_iter", "_cnt", "critic_gradient_step")
"""What upstream's algorithms count gradient steps by, outside of their state."""
_RETURNS = ("mean", "var", "count")

log = logging.getLogger(__name__)


class Checkpoints:
    """Those of one training: every `checkpoint_every` steps, and whenever `save` is called."""

    def __init__(self, plan: Plan, algorithm: Algorithm, journal: Journal) -> None:
        self._plan = plan
        self._algorithm = algorithm
        self._journal = journal
        self._saved = journal.steps
        plan.config.checkpoints_dir.mkdir(parents=True, exist_ok=True)

    def due(self) -> bool:
        return self._journal.steps - self._saved >= self._plan.checkpoint_every

    def save(self) -> None:
        """Save the state as it is, unless that was done at this step."""
        step = self._journal.steps
        if step == self._saved:
            return
        path = self._plan.config.checkpoints_dir / f"step-{step}.pt"
        description = json.dumps(self._description(), indent=2)
        try:
            _whole(path.with_suffix(".json"), lambda to: to.write_text(description, encoding="utf-8"))
            _whole(path, lambda to: torch.save(_state_of(self._algorithm), to))
        except OSError as error:  # a full disk costs the checkpoint, not the training
            log.warning("no checkpoint at step %d: %s", step, error)
        else:
            telemetry = self._journal.telemetry
            telemetry.checkpoint_saved(path, step=step, metrics=self._journal.mean_return, format="torch")
        self._saved = step

    def _description(self) -> dict[str, Any]:
        plan = self._plan
        return {
            "format": FORMAT,
            "algorithm": plan.algorithm.name,
            "env_id": plan.config.env_id,
            "seed": plan.config.seed,
            "step": self._journal.steps,
            "episodes": self._journal.telemetry.episodes,
            "hyperparameters": plan.hyperparameters,
            "observation_space": describe_space(plan.observation_space),
            "action_space": describe_space(plan.action_space),
            "upstream": {"library": "tianshou", "version": upstream_version},
        }


def load(path: Path) -> dict[str, Any]:
    """What a checkpoint holds, on the CPU. Raises `ConfigError` for files that are damaged or are none."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(state, dict) or not isinstance(state.get("algorithm"), dict):
            raise ValueError("it holds no state of an algorithm")
    except (OSError, ValueError, RuntimeError, EOFError, KeyError, pickle.UnpicklingError) as error:
        raise ConfigError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from None
    return state


def restore(algorithm: Algorithm, path: Path) -> None:
    """Put a checkpoint's state into an algorithm that was built alike. Raises `ConfigError`."""
    state = load(path)
    try:
        algorithm.load_state_dict(state["algorithm"])
    except (RuntimeError, ValueError, KeyError) as error:
        raise ConfigError(f"the weights of {path} do not fit: {error}") from None
    for name, count in state["counters"].items():
        setattr(algorithm, name, count)
    for name, number in state["returns"].items():
        setattr(algorithm.ret_rms, name, number)


def _state_of(algorithm: Algorithm) -> dict[str, Any]:
    returns = getattr(algorithm, "ret_rms", None)
    return {
        "algorithm": algorithm.state_dict(),
        "counters": {name: getattr(algorithm, name) for name in _COUNTERS if hasattr(algorithm, name)},
        "returns": {} if returns is None else {name: float(getattr(returns, name)) for name in _RETURNS},
    }


def _whole(path: Path, write: Any) -> None:
    """Write a file that is there as a whole or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        write(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
