"""Operators that act by trained policies.

Without `deterministic`, actions are sampled as in training: from the policy's distribution, at random with
the probability `eps_training`, or with `exploration_noise`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from mosaic_contract import AgentSetup, Operator, make_space
from mosaic_contract.checkpoints import spaces_of
from mosaic_contract.played_wrappers import through_wrappers
from mosaic_contract.pytorch import load_torch
from mosaic_contract.trained_policy import TrainedOperator, trained_policy, transform_of
from tianshou.algorithm.algorithm_base import Policy
from tianshou.data import Batch

from .algorithms import ALGORITHMS, VALUE
from .config import FORMAT
from .factory import make_algorithm
from .self_play import board_space, seen


def operate(setup: AgentSetup) -> Operator:
    """Return the operator of one agent. Raises `ConfigError` for an unusable checkpoint."""
    torch.set_num_threads(1)
    policy, described, deterministic = trained_policy(setup, FORMAT, ALGORITHMS, _make)
    kind = TianshouTurnOperator if "agents" in described else TianshouOperator
    return through_wrappers(described, kind(policy, described, deterministic, setup.seed))


class TianshouOperator(TrainedOperator):
    """An operator that acts for one agent by its policy."""

    def __init__(
        self, policy: Policy, described: dict[str, Any], deterministic: bool, seed: int | None
    ) -> None:
        self._policy, self._deterministic = policy, deterministic
        values = described["hyperparameters"]
        by_value = ALGORITHMS[described["algorithm"]].family == VALUE
        self._observe = transform_of(described, next(iter(spaces_of(described)))).observe
        self._exploration = values["eps_training"] if by_value and not deterministic else 0.0
        super().__init__(
            policy.observation_space,
            policy.action_space,
            seed=seed,
            epsilon=0.0 if "agents" in described else self._exploration,
            noise=0.0 if deterministic else values.get("exploration_noise", 0.0),
        )

    def select_action(self, observation: Any) -> Any:
        return super().select_action(self._observe(observation))

    def forward(self, x: Any, memory: Any) -> tuple[Any, Any]:
        self._policy.deterministic_eval = self._deterministic
        with torch.inference_mode():
            action = self._policy(Batch(obs=x[None], info={})).act
        return (action.numpy() if isinstance(action, torch.Tensor) else np.asarray(action))[0], None

    def bounded(self, action: Any) -> Any:
        return super().bounded(self._policy.map_action(action))


class TianshouTurnOperator(TianshouOperator):
    """An operator for any player of a turn-based game that plays only legal moves."""

    def select_action(self, observation: Any, action_mask: Any = None) -> Any:
        now = seen(observation, np.ones(self.actions.n) if action_mask is None else action_mask)
        self._legal = now["mask"]
        return TrainedOperator.select_action(self, now["obs"])

    def forward(self, x: Any, memory: Any) -> tuple[Any, Any]:
        generator = self._generators.numpy
        if self._exploration and generator.random() < self._exploration:
            return generator.choice(np.flatnonzero(self._legal)), None
        with torch.inference_mode():
            return self._policy(Batch(obs=Batch(obs=x[None], mask=self._legal[None]), info={})).act[0], None


def _make(path: Path, described: dict[str, Any]) -> Policy:
    state = load_torch(path, "algorithm")["algorithm"]
    observations, actions = _spaces(described)
    name, values = described["algorithm"], described["hyperparameters"]
    policy = make_algorithm(name, observations, actions, values).policy
    policy.observation_space = observations
    policy.load_state_dict(
        {key.removeprefix("policy."): value for key, value in state.items() if key.startswith("policy.")}
    )
    return policy.eval()


def _spaces(described: dict[str, Any]) -> tuple[Any, Any]:
    """Return the spaces for which the networks were built."""
    if "agents" not in described:
        return make_space(transform_of(described).space), make_space(described["action_space"])
    agent = next(iter(described["agents"].values()))
    return board_space(make_space(agent["observation_space"])), make_space(agent["action_space"])
