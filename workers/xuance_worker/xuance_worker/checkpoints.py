"""Checkpoints: `step-N.pt` with weights, optimisers and statistics, and `step-N.json`, which describes it.

Files load with `weights_only=True`. Upstream's own lack what its learners keep outside of the policy: PPO's
value normalisation, SAC's temperature, the number of updates.
"""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch
from mosaic_contract import ConfigError
from xuance import __version__ as upstream_version

from .config import Plan
from .descriptions import FORMAT, describe_spaces
from .telemetry import Journal

_STATISTICS = ("obs_rms", "ret_rms")

log = logging.getLogger(__name__)


class Checkpoints:
    """Those of one training; `save` writes one at upstream's present step."""

    def __init__(self, plan: Plan, agent: Any, journal: Journal) -> None:
        self._plan = plan
        self._agent = agent
        self._journal = journal
        self._saved = plan.start_step
        plan.config.checkpoints_dir.mkdir(parents=True, exist_ok=True)

    def save(self) -> None:
        """Save the state as it is, unless that was done at this step."""
        step = int(self._agent.current_step)
        if step == self._saved:
            return
        path = self._plan.config.checkpoints_dir / f"step-{step}.pt"
        description = json.dumps(self._description(step), indent=2)
        try:
            _whole(path.with_suffix(".json"), lambda to: to.write_text(description, encoding="utf-8"))
            _whole(path, lambda to: torch.save(_state_of(self._agent), to))
        except OSError as error:  # a full disk costs the checkpoint, not the training
            log.warning("no checkpoint at step %d: %s", step, error)
            return
        self._saved = step
        telemetry = self._journal.telemetry
        telemetry.checkpoint_saved(path, step=step, metrics=self._journal.mean_return, format="torch")

    def _description(self, step: int) -> dict[str, Any]:
        plan = self._plan
        return {
            "format": FORMAT,
            "algorithm": plan.algorithm.name,
            "env_id": plan.config.env_id,
            "seed": plan.config.seed,
            "step": step,
            "episodes": self._journal.telemetry.episodes,
            "hyperparameters": plan.hyperparameters,
            **describe_spaces(plan.world),
            "longest_episode": plan.world.longest,
            "upstream": {"library": "xuance", "version": upstream_version},
        }


def load(path: Path) -> dict[str, Any]:
    """What a checkpoint holds, on the CPU. Raises `ConfigError` for files that are damaged or are none."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(state, dict) or not isinstance(state.get("policy"), dict):
            raise ValueError("it holds no policy")
    except (OSError, ValueError, RuntimeError, EOFError, KeyError, pickle.UnpicklingError) as error:
        raise ConfigError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from None
    return state


def restore(agent: Any, path: Path, step: int) -> None:
    """Put a checkpoint into an agent that was built alike, to go on training. Raises `ConfigError`.

    The replay buffer is empty: learning waits for as many new steps as at first.
    """
    state, learner = load(path), agent.learner
    try:
        restore_policy(agent, state)
        _put(learner.optimizer, state["optimizers"])
        _put(learner.scheduler, state["schedulers"])
        _put(learner.value_normalizer, state["value_normalizer"])
        if state["temperature"] is not None:
            with torch.no_grad():
                learner.log_alpha.copy_(state["temperature"]["log_alpha"])
            learner.alpha = learner.log_alpha.exp()
            learner.alpha_optimizer.load_state_dict(state["temperature"]["optimizer"])
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"the weights of {path} do not fit: {error}") from None
    learner.iterations = state["iterations"]
    agent.current_step = step
    agent.start_training += step
    if hasattr(agent, "_update_explore_factor"):
        agent._update_explore_factor()


def restore_policy(agent: Any, state: dict[str, Any]) -> None:
    """What acting needs: the weights, and the statistics that observations are normalised by."""
    agent.policy.load_state_dict(state["policy"])
    for name, saved in state["statistics"].items():
        statistics = getattr(agent, name)
        statistics.mean, statistics.var = saved["mean"].numpy(), saved["var"].numpy()
        statistics.count = saved["count"]


def _state_of(agent: Any) -> dict[str, Any]:
    learner = agent.learner
    tuned = getattr(learner, "alpha_optimizer", None)
    return {
        "policy": agent.policy.state_dict(),
        "optimizers": _states(learner.optimizer),
        "schedulers": _states(learner.scheduler),
        "value_normalizer": _states(learner.value_normalizer),
        "temperature": tuned and {"log_alpha": learner.log_alpha.detach(), "optimizer": tuned.state_dict()},
        "statistics": {
            name: {
                "mean": torch.as_tensor(np.asarray(statistics.mean)),
                "var": torch.as_tensor(np.asarray(statistics.var)),
                "count": float(statistics.count),
            }
            for name in _STATISTICS
            if (statistics := getattr(agent, name, None)) is not None
        },
        "iterations": int(learner.iterations),
    }


def _states(what: Any) -> Any:
    """The states of optimisers, schedulers or modules: one, none, or dictionaries of them."""
    if what is None:
        return None
    if isinstance(what, dict):
        return {key: _states(one) for key, one in what.items()}
    return what.state_dict()


def _put(what: Any, states: Any) -> None:
    if isinstance(what, dict):
        for key, one in what.items():
            _put(one, states[key])
    elif what is not None:
        what.load_state_dict(states)


def _whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file that is there as a whole or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        write(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
