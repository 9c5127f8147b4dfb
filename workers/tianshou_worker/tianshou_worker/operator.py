"""Operators that act by trained policies.

Without `deterministic` actions are drawn as the training drew them: from the policy's distribution, at random
with the probability `eps_training`, or with `exploration_noise`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from mosaic_contract import AgentSetup, make_space
from mosaic_contract.torch_files import load_torch
from mosaic_contract.trained_operator import TrainedOperator
from mosaic_contract.trained_policy import trained_policy, transform_of
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


class CheckpointOperator(TrainedOperator):
    """Acts for one agent by its policy."""

    def __init__(
        self, policy: Policy, described: dict[str, Any], deterministic: bool, seed: int | None
    ) -> None:
        self._policy, self._deterministic = policy, deterministic
        values = described["hyperparameters"]
        by_value = ALGORITHMS[described["algorithm"]].family == VALUE
        self._wrapped = transform_of(described).observe
        super().__init__(
            policy.observation_space,
            policy.action_space,
            seed=seed,
            epsilon=values["eps_training"] if by_value and not deterministic else 0.0,
            noise=0.0 if deterministic else values.get("exploration_noise", 0.0),
        )

    def select_action(self, observation: Any) -> Any:
        return super().select_action(self._wrapped(observation))

    def forward(self, x: Any, memory: Any) -> tuple[Any, Any]:
        self._policy.deterministic_eval = self._deterministic
        with torch.inference_mode():
            action = self._policy(Batch(obs=x[None], info={})).act
        return (action.numpy() if isinstance(action, torch.Tensor) else np.asarray(action))[0], None

    def bounded(self, action: Any) -> Any:
        return super().bounded(self._policy.map_action(action))


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
