"""Checkpoint → action: policies that this worker has trained, as operators.

In: `AgentSetup` with `settings` {"checkpoint": path, "deterministic": bool, true by default}. Out: an
operator with `select_action`. Everything is checked when it is made: the file, its description, the spaces.
Weights only are loaded; agents with the same checkpoint share them.

Without `deterministic` actions are drawn as the training drew them: from the policy's distribution, at random
with the probability `eps_training`, or with `exploration_noise`. What an agent draws follows from its seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from mosaic_contract import AgentSetup, make_space
from mosaic_contract.torch_files import load_torch
from mosaic_contract.trained_policy import AgentGenerators, checked_vector, trained_policy, transform_of
from tianshou.algorithm.algorithm_base import Policy
from tianshou.data import Batch

from .algorithms import ALGORITHMS, VALUE
from .config import FORMAT
from .factory import make_algorithm


def operate(setup: AgentSetup) -> CheckpointOperator:
    """Return the operator of one agent. Raises `ConfigError` for a checkpoint that it cannot act from."""
    torch.set_num_threads(1)
    policy, described, deterministic = trained_policy(setup, FORMAT, ALGORITHMS, _make)
    return CheckpointOperator(policy, described, deterministic, setup.seed)


class CheckpointOperator:
    """Acts for one agent. Its random numbers are its own: the process's generators stay as they are."""

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
        self._wrapped = transform_of(described).observe
        self._generators = AgentGenerators(seed)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        """Begin an episode; with a seed, the random numbers begin again from it."""
        self._generators.begin(seed)

    def select_action(self, observation: Any) -> Any:
        policy, space = self._policy, self._policy.action_space
        x = checked_vector(
            self._wrapped(observation), policy.observation_space.shape, policy.observation_space.dtype
        )
        policy.deterministic_eval = self._deterministic
        action = policy.map_action(self._explored(self._forward(x)))
        if self._discrete:
            return int(action[0])
        return np.clip(action[0], space.low, space.high).astype(space.dtype, copy=False)

    def _forward(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the action of upstream's policy, (1,) or (1, n)."""
        with self._generators.torch_generator(), torch.inference_mode():
            action = self._policy(Batch(obs=x[None], info={})).act
        return action.numpy() if isinstance(action, torch.Tensor) else np.asarray(action)

    def _explored(self, action: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if self._epsilon and self._generators.numpy.random() < self._epsilon:
            return self._generators.numpy.integers(self._policy.action_space.n, size=1)
        return (
            action + self._generators.numpy.normal(0.0, self._noise, action.shape) if self._noise else action
        )


def _make(path: Path, described: dict[str, Any]) -> Policy:
    state = load_torch(path, "algorithm")["algorithm"]
    observations, actions = make_space(transform_of(described).space), make_space(described["action_space"])
    name, values = described["algorithm"], described["hyperparameters"]
    policy = make_algorithm(name, observations, actions, values).policy
    policy.observation_space = observations
    policy.load_state_dict(
        {key.removeprefix("policy."): value for key, value in state.items() if key.startswith("policy.")}
    )
    return policy.eval()
