"""Operators that act with trained policies. Without `deterministic`, actions are sampled as in training: from
the policy's distribution, at random with the probability `eps_training`, or with `exploration_noise`."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch
from mosaic_contract import AgentSetup, Operator, make_space
from mosaic_contract.checkpoints import spaces_of
from mosaic_contract.played_wrappers import through_wrappers
from mosaic_contract.policy_queries import Answer
from mosaic_contract.pytorch import in_sequence, load_torch, prepare_acting
from mosaic_contract.trained_policy import TrainedOperator, trained_policy, transform_of
from tianshou.algorithm.algorithm_base import Policy
from tianshou.algorithm.modelfree.a2c import ActorCriticOnPolicyAlgorithm
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.data import Batch
from tianshou.utils.net.common import Net, Recurrent
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

from .algorithms import ALGORITHMS, VALUE
from .config import TianshouPlan
from .factory import make_algorithm
from .self_play import board_space, policy_observation

CRITIC = "mosaic_critic"
"""The attribute of a policy with the critic of its algorithm."""


def operate(setup: AgentSetup) -> Operator:
    """Return the operator of one agent. Raises `ConfigError` for an unusable checkpoint."""
    prepare_acting()
    policy, described, deterministic = trained_policy(setup, TianshouPlan.FORMAT, ALGORITHMS, _make)
    operator_class = TianshouTurnOperator if "agents" in described else TianshouOperator
    return through_wrappers(described, operator_class(policy, described, deterministic, setup.seed))


class TianshouOperator(TrainedOperator):
    """An operator that acts for one agent with its policy."""

    def __init__(
        self, policy: Policy, described: dict[str, Any], deterministic: bool, seed: int | None
    ) -> None:
        self._policy = policy
        values = described["hyperparameters"]
        self._by_value = ALGORITHMS[described["algorithm"]].family == VALUE
        self._exploration = values["eps_training"] if self._by_value and not deterministic else 0.0
        super().__init__(
            described,
            next(iter(spaces_of(described))),
            policy.observation_space,
            policy.action_space,
            seed=seed,
            epsilon=0.0 if "agents" in described else self._exploration,
            noise=0.0 if deterministic else values.get("exploration_noise", 0.0),
            deterministic=deterministic,
        )

    def forward(self, xs: Any, memory: Any) -> tuple[Any, Any]:
        if self._deterministic and self._scores is not None:
            with torch.inference_mode():  # without a batch and a distribution, which take twice as long
                return self._scores(xs).argmax(1).numpy(), None
        outputs = self._outputs(xs, self._deterministic, memory)
        actions, memory = outputs.act, None if memory is None else outputs.state
        return (actions.numpy() if isinstance(actions, torch.Tensor) else np.asarray(actions)), memory

    def initial_memory(self, count: int = 1) -> Any:
        network = getattr(self._policy, "model", None)
        if not isinstance(network, Recurrent):
            return None
        state = torch.zeros(count, network.nn.num_layers, network.nn.hidden_size)
        return Batch(hidden=state, cell=state)

    def answers(self) -> dict[str, Answer]:
        answers: dict[str, Answer] = {}
        policy: Any = self._policy
        if self._by_value:

            def action_values(xs: Any, memory: Any) -> torch.Tensor:
                if self._scores is not None:
                    return self._scores(xs)
                logits = self._outputs(xs, memory=memory).logits
                values: torch.Tensor = policy.compute_q_value(logits, None)
                return values

            answers["action_values"] = action_values
            answers["value"] = lambda xs, memory: action_values(xs, memory).amax(1)
        elif self._is_categorical:
            answers["probabilities"] = lambda xs, memory: self._outputs(xs).dist.probs
            answers["logits"] = lambda xs, memory: self._outputs(xs).dist.logits
        if (critic := getattr(policy, CRITIC, None)) is not None:
            values = vector_network(critic[0]) or critic[0]
            answers["value"] = lambda xs, memory: values(xs).flatten()
        return answers

    @functools.cached_property
    def _is_categorical(self) -> bool:
        """Whether the policy has a distribution over discrete actions."""
        zeros = np.zeros((1, *self._shape), np.float32)
        return not self._by_value and isinstance(
            self._outputs(zeros).get("dist"), torch.distributions.Categorical
        )

    @functools.cached_property
    def _scores(self) -> Callable[[Any], torch.Tensor] | None:
        """The function from N inputs to a score for each action, highest for the best action; None for
        policies that select it otherwise."""
        policy: Any = self._policy
        if type(policy) is DiscreteQLearningPolicy:
            return vector_network(policy.model)
        if self._is_categorical and hasattr(policy, "actor"):
            return vector_network(policy.actor) or (lambda xs: policy.actor(xs)[0])
        return None

    def _outputs(self, xs: Any, deterministic: bool = True, memory: Any = None) -> Any:
        self._policy.deterministic_eval = deterministic
        with torch.inference_mode():
            return self._policy(Batch(obs=xs, info={}), memory)

    def bounded(self, action: Any) -> Any:
        return super().bounded(self._policy.map_action(action))


def vector_network(network: Any) -> Callable[[Any], torch.Tensor] | None:
    """Return the function from N vectors to the output of one of upstream's networks of linear layers, with
    the same operations; None for any other network."""
    actor = type(network) in (DiscreteActor, DiscreteCritic)
    net = network.preprocess if actor else network
    if type(net) is not Net or net.use_dueling or net.softmax or net.num_atoms > 1:
        return None
    layers = in_sequence(net.model.model, *([network.last.model] if actor else []))
    softmax = getattr(network, "softmax_output", False)

    def output(xs: Any) -> torch.Tensor:
        x: torch.Tensor = layers(torch.from_numpy(xs.reshape(len(xs), -1)))
        return torch.softmax(x, dim=-1) if softmax else x

    return output


class TianshouTurnOperator(TianshouOperator):
    """An operator for any player of a turn-based game that plays only legal moves."""

    def select_action(self, observation: Any, action_mask: Any = None) -> Any:
        mask = np.ones(self.actions.n) if action_mask is None else action_mask
        inputs = policy_observation(observation, mask)
        self._legal = inputs["mask"]
        return self.act(inputs["obs"])

    def queries(self) -> None:
        """Return None: moves are chosen by the mask of one position."""

    def forward(self, xs: Any, memory: Any) -> tuple[Any, Any]:
        generator = self._generators.numpy
        if self._exploration and generator.random() < self._exploration:
            return [generator.choice(np.flatnonzero(self._legal))], None
        with torch.inference_mode():
            return self._policy(Batch(obs=Batch(obs=xs, mask=self._legal[None]), info={})).act, None


def _make(path: Path, described: dict[str, Any]) -> Policy:
    state = load_torch(path, "algorithm")["algorithm"]
    observations, actions = _spaces(described)
    name, values = described["algorithm"], described["hyperparameters"]
    algorithm = make_algorithm(name, observations, actions, values)
    policy = algorithm.policy
    policy.observation_space = observations
    policy.load_state_dict(_part(state, "policy."))
    if isinstance(algorithm, ActorCriticOnPolicyAlgorithm):
        algorithm.critic.load_state_dict(_part(state, "critic."))
        setattr(policy, CRITIC, (algorithm.critic.eval(),))  # in a tuple, it is not a part of the network
    return policy.eval()


def _part(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}


def _spaces(described: dict[str, Any]) -> tuple[Any, Any]:
    """Return the spaces for which the networks were built."""
    if "agents" not in described:
        return make_space(transform_of(described).space), make_space(described["action_space"])
    agent = next(iter(described["agents"].values()))
    return board_space(make_space(agent["observation_space"])), make_space(agent["action_space"])
