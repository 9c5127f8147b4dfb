"""Checkpoint → action: policies that this worker has trained, as operators.

In: `AgentSetup` with `settings` {"checkpoint": path, "deterministic": bool, true by default}. Out: an
operator with `select_action`. Everything is checked when it is made: the file, its description, the spaces.
Weights only are loaded; agents with the same checkpoint share them.

Without `deterministic` actions are drawn as the training drew them: from the policy's distribution, at random
with the probability `eps_training`, or with `exploration_noise`. What an agent draws follows from its seed.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mosaic_contract import AgentSetup, ConfigError, make_space
from mosaic_contract.checkpoints import acting_settings, check_spaces, read_description
from tianshou.algorithm.algorithm_base import Policy
from tianshou.data import Batch

from .algorithms import ALGORITHMS, VALUE
from .building import make_algorithm
from .checkpoints import load
from .config import FORMAT

_KEPT = 8  # policies


def operate(setup: AgentSetup) -> Acting:
    """The operator of one agent. Raises `ConfigError` for a checkpoint that it cannot act from."""
    torch.set_num_threads(1)
    path, deterministic = acting_settings(setup)
    file, described = read_description(path, FORMAT, ALGORITHMS)
    check_spaces(described, setup)
    return Acting(_policy(file, file.stat().st_mtime_ns), described, deterministic, setup.seed)


class Acting:
    """Acts for one agent. Its random numbers are its own; the process's are as they were after an action."""

    def __init__(
        self, policy: Policy, described: dict[str, Any], deterministic: bool, seed: int | None
    ) -> None:
        self._policy = policy
        self._deterministic = deterministic
        values = described["hyperparameters"]
        by_value = ALGORITHMS[described["algorithm"]].family == VALUE
        self._epsilon = values["eps_training"] if by_value and not deterministic else 0.0
        self._noise = 0.0 if deterministic else values.get("exploration_noise", 0.0)
        self._discrete = described["action_space"]["type"] == "Discrete"
        self.episode_begin(0 if seed is None else seed, 0)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        """Draw what this seed gives from here on. Without one: go on."""
        if seed is not None:
            self._torch = torch.Generator().manual_seed(seed).get_state()
            self._numpy = np.random.default_rng(seed)

    def select_action(self, observation: Any) -> Any:
        policy, space = self._policy, self._policy.action_space
        x = np.asarray(observation, dtype=policy.observation_space.dtype)
        if x.shape != policy.observation_space.shape:
            size = policy.observation_space.shape[0]
            raise ValueError(f"the policy takes {size} numbers, this observation has {x.size}")
        policy.deterministic_eval = self._deterministic
        action = policy.map_action(self._explored(self._forward(x)))
        if self._discrete:
            return int(action[0])
        return np.clip(action[0], space.low, space.high).astype(space.dtype, copy=False)

    def _forward(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What upstream's policy answers, (1,) or (1, n)."""
        outside = torch.get_rng_state()
        torch.set_rng_state(self._torch)
        try:
            with torch.inference_mode():
                action = self._policy(Batch(obs=x[None], info={})).act
        finally:
            self._torch = torch.get_rng_state()
            torch.set_rng_state(outside)
        return action.numpy() if isinstance(action, torch.Tensor) else np.asarray(action)

    def _explored(self, action: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if self._epsilon and self._numpy.random() < self._epsilon:
            return self._numpy.integers(self._policy.action_space.n, size=1)
        return action + self._numpy.normal(0.0, self._noise, action.shape) if self._noise else action


@functools.lru_cache(_KEPT)
def _policy(path: Path, modified: int) -> Policy:
    """The policy of a file that was modified then. Raises `ConfigError`."""
    _, described = read_description(path, FORMAT, ALGORITHMS)
    state = load(path)["algorithm"]
    try:
        observations, actions = (make_space(described[f"{what}_space"]) for what in ("observation", "action"))
        name, values = described["algorithm"], described["hyperparameters"]
        policy = make_algorithm(name, observations, actions, values).policy
        policy.observation_space = observations
        policy.load_state_dict(
            {key.removeprefix("policy."): value for key, value in state.items() if key.startswith("policy.")}
        )
    except Exception as error:  # whatever a description that was changed makes of upstream's code
        raise ConfigError(f"no policy can be made from {path}: {type(error).__name__}: {error}") from error
    return policy.eval()
