"""Checkpoints: `step-N.pt` with weights, optimizers and counters, and `step-N.json` with its description.
Files load with `weights_only=True`."""

from __future__ import annotations

import functools
from pathlib import Path

from mosaic_contract import ConfigError
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.pytorch import load_optimizer, load_torch, torch_bytes
from tianshou import __version__ as upstream_version
from tianshou.algorithm.algorithm_base import Algorithm

from .config import TianshouPlan

_OPTIMIZERS = Algorithm._STATE_DICT_KEY_OPTIMIZERS
_COUNTERS = ("_iter", "_cnt", "critic_gradient_step")
"""Counters of gradient steps that upstream's algorithms keep outside of their state."""
_RETURNS = ("mean", "var", "count")
_MULTIPLIERS = ("cql_log_alpha",)
"""Scalar tensors that upstream's algorithms learn outside of their state."""


def checkpoints_of(plan: TianshouPlan, algorithm: Algorithm, logger: EpisodeLogger) -> Checkpoints:
    """Return the checkpoints of one training."""
    contents = functools.partial(_contents, algorithm)
    upstream = "tianshou", upstream_version
    return plan.checkpoints(logger, contents, suffix=".pt", format="torch", upstream=upstream)


def restore(algorithm: Algorithm, path: Path) -> None:
    """Load a checkpoint's state into an algorithm with the same configuration. Raises `ConfigError`."""
    state = load_torch(path, "algorithm")
    try:
        for optimizer, saved in zip(algorithm._optimizers, state["algorithm"][_OPTIMIZERS], strict=True):
            load_optimizer(optimizer, saved)
        optimizers = [optimizer.state_dict() for optimizer in algorithm._optimizers]
        algorithm.load_state_dict({**state["algorithm"], _OPTIMIZERS: optimizers})
    except (RuntimeError, ValueError, KeyError) as error:
        raise ConfigError(f"the weights of {path} do not fit: {error}") from None
    for name, count in state["counters"].items():
        setattr(algorithm, name, count)
    for name, number in state["returns"].items():
        setattr(algorithm.ret_rms, name, number)
    for name, number in state.get("multipliers", {}).items():
        getattr(algorithm, name).detach().fill_(number)


def _contents(algorithm: Algorithm) -> bytes:
    returns = getattr(algorithm, "ret_rms", None)
    state = {
        "algorithm": algorithm.state_dict(),
        "counters": {name: getattr(algorithm, name) for name in _COUNTERS if hasattr(algorithm, name)},
        "returns": {} if returns is None else {name: float(getattr(returns, name)) for name in _RETURNS},
        "multipliers": {
            name: getattr(algorithm, name).item() for name in _MULTIPLIERS if hasattr(algorithm, name)
        },
    }
    return torch_bytes(state)
