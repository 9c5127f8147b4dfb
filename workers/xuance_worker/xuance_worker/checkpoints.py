"""Checkpoints: `step-N.pt` with weights, optimizers and statistics, and `step-N.json` with its description.

Files load with `weights_only=True`. Upstream's own checkpoints lack the state that its learners keep outside
of the policy: PPO's value normalization, SAC's temperature, the number of updates.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch
from mosaic_contract import ConfigError
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.pytorch import load_optimizer, load_torch, torch_bytes
from xuance import __version__ as upstream_version

from .config import XuancePlan

_STATISTICS = ("obs_rms", "ret_rms")


def checkpoints_of(plan: XuancePlan, agent: Any, logger: EpisodeLogger) -> Checkpoints:
    """Return the checkpoints of one training."""
    return plan.checkpoints(
        logger,
        functools.partial(_contents, agent),
        suffix=".pt",
        format="torch",
        upstream=("xuance", upstream_version),
        env_settings=plan.spec.settings,
        longest_episode=plan.spec.longest,
    )


def restore(agent: Any, path: Path, step: int) -> None:
    """Load a checkpoint into an agent of the same configuration, to resume training. Raises `ConfigError`.
    The replay buffer is empty: learning waits for as many new steps as initially."""
    state, learner = load_torch(path, "policy"), agent.learner
    try:
        restore_policy(agent, state)
        _restore(learner.optimizer, state["optimizers"], load_optimizer)
        _restore(learner.scheduler, state["schedulers"])
        _restore(learner.value_normalizer, state["value_normalizer"])
        if state["temperature"] is not None:
            _restore(learner.log_alpha, state["temperature"]["log_alpha"], _copy)
            if isinstance(learner.log_alpha, dict):  # of a team
                learner.alpha = {key: log_alpha.exp() for key, log_alpha in learner.log_alpha.items()}
            else:
                learner.alpha = learner.log_alpha.exp()
            _restore(learner.alpha_optimizer, state["temperature"]["optimizer"], load_optimizer)
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"the weights of {path} do not fit: {error}") from None
    learner.iterations = state["iterations"]
    agent.current_step = step
    agent.start_training += step
    if hasattr(agent, "_update_explore_factor"):
        agent._update_explore_factor()


def restore_policy(agent: Any, state: dict[str, Any]) -> None:
    """Restore the state needed for acting: weights and the statistics for normalizing observations."""
    agent.policy.load_state_dict(state["policy"])
    for name, saved in state["statistics"].items():
        statistics = getattr(agent, name)
        statistics.mean, statistics.var = saved["mean"].numpy(), saved["var"].numpy()
        statistics.count = saved["count"]


def _contents(agent: Any) -> bytes:
    learner = agent.learner
    alpha_optimizer = getattr(learner, "alpha_optimizer", None)
    state = {
        "policy": agent.policy.state_dict(),
        "optimizers": _states(learner.optimizer),
        "schedulers": _states(learner.scheduler),
        "value_normalizer": _states(learner.value_normalizer),
        "temperature": alpha_optimizer
        and {"log_alpha": _states(learner.log_alpha), "optimizer": _states(alpha_optimizer)},
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
    return torch_bytes(state)


def _copy(tensor: Any, saved: Any) -> None:
    with torch.no_grad():
        tensor.copy_(saved)


def _load(owner: Any, state: Any) -> None:
    owner.load_state_dict(state)


def _states(owner: Any) -> Any:
    """Return the states of optimizers, schedulers, modules or tensors: one, none, or dictionaries of them."""
    if owner is None:
        return None
    if isinstance(owner, torch.Tensor):
        return owner.detach()
    if isinstance(owner, dict):
        return {key: _states(part) for key, part in owner.items()}
    return owner.state_dict()


def _restore(owner: Any, states: Any, load: Callable[[Any, Any], Any] = _load) -> None:
    if isinstance(owner, dict):
        for key, part in owner.items():
            _restore(part, states[key], load)
    elif owner is not None:
        load(owner, states)
