"""Operators that act with trained policies, from this worker's checkpoints or from other zip files.

Without `deterministic`, actions are sampled as by upstream's `predict`: from the policy's distribution, or at
random with the exploration rate at the end of the training. Policies also answer queries: probabilities,
logits, values.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import torch
from gymnasium import spaces
from mosaic_contract import AgentSetup, Operator, make_space
from mosaic_contract.checkpoints import wrappers_of
from mosaic_contract.played_wrappers import through_wrappers
from mosaic_contract.policy_queries import ACTION, Answer, PolicyQueries
from mosaic_contract.pytorch import in_sequence
from mosaic_contract.spaces import start_of
from mosaic_contract.trained_policy import AgentGenerators, trained_policy, transform_of
from stable_baselines3.common.distributions import CategoricalDistribution
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.preprocessing import is_image_space
from torch import nn

from .algorithms import ALGORITHMS
from .config import Sb3Plan
from .environments import flat_mask
from .foreign import foreign_policy
from .saved_policy import SavedPolicy, load_policy

Values = Callable[[Any], torch.Tensor]


def operate(setup: AgentSetup) -> Operator:
    """Return the operator of one agent. Raises `ConfigError` for an unusable checkpoint."""
    torch.set_num_threads(1)
    if "trust" in setup.settings:
        saved, name, deterministic, space, normalize = foreign_policy(setup)
        return Sb3Operator(saved, name, deterministic, setup.seed, space, normalize)
    saved, described, deterministic = trained_policy(setup, Sb3Plan.FORMAT, ALGORITHMS, _make)
    observe = transform_of(described).observe if wrappers_of(described) else None
    space = described["observation_space"]
    operator = Sb3Operator(saved, described["algorithm"], deterministic, setup.seed, space, observe)
    return through_wrappers(described, operator)


def _make(path: Path, described: Mapping[str, Any]) -> SavedPolicy:
    observations, actions = make_space(transform_of(described).space), make_space(described["action_space"])
    return load_policy(path, ALGORITHMS[described["algorithm"]], observations, actions)


class Sb3Operator:
    """An operator that acts for one agent with its policy, with its own random generators."""

    def __init__(
        self,
        saved: SavedPolicy,
        algorithm: str,
        deterministic: bool,
        seed: int | None,
        space: Mapping[str, Any],
        observe: Callable[[Any], Any] | None = None,
    ) -> None:
        self._policy = saved.of_one_agent()
        self._deterministic, self._use_sde = deterministic, saved.use_sde
        self._exploration = 0.0 if deterministic else saved.exploration
        self._masked = ALGORITHMS[algorithm].masked
        self._start = start_of(self._policy.action_space)
        self._space, self._observe = space, observe
        self._best = best_of_vectors(self._policy) if deterministic else None
        self._generators = AgentGenerators(seed)
        self.episode_begin(None, 0)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        """Begin an episode. A seed reseeds the random generators."""
        self._state: Any = None
        self._starts = True
        self._generators.begin(seed)
        if self._use_sde:
            with self._generators.torch_generator():
                self._policy.reset_noise()

    def select_action(self, observation: Any, action_mask: Any = None) -> Any:
        network_input = self._input(observation)
        if self._best is not None:
            return self._start + int(self._best(network_input[None])[0])
        space: Any = self._policy.action_space
        if self._exploration and self._generators.numpy.random() < self._exploration:
            return self._start + int(self._generators.numpy.integers(space.n))
        masks = {"action_masks": flat_mask(action_mask)} if self._masked and action_mask is not None else {}
        starts = np.array([self._starts])
        action, self._state = self._predict(network_input, self._state, starts, **masks)
        self._starts = False
        return self._start + int(action) if action.ndim == 0 else action.astype(space.dtype, copy=False)

    def queries(self) -> PolicyQueries:
        """Return the queries that the policy answers."""
        return PolicyQueries(
            self._space,
            {ACTION: self._actions, **answers_of(self._policy)},
            None if self._observe is None else lambda observation, alone: self._input(observation),
            lambda: self._state,
            memoryless=self._best is not None,
        )

    def _actions(self, inputs: Any, state: Any) -> Any:
        """Return the actions for N inputs, each the first of an episode."""
        if self._best is not None:
            return self._start + self._best(inputs)
        count = len(next(iter(inputs.values())) if isinstance(inputs, Mapping) else inputs)
        actions, _ = self._predict(inputs, state, np.full(count, state is None))
        generator, space = self._generators.numpy, self._policy.action_space
        if self._exploration:
            explores = generator.random(count) < self._exploration
            actions = np.where(explores, generator.integers(space.n, size=count), actions)
        return self._start + actions if actions.ndim == 1 else actions.astype(space.dtype, copy=False)

    def _predict(self, inputs: Any, state: Any, starts: Any, **masks: Any) -> tuple[Any, Any]:
        with self._generators.torch_generator():
            return self._policy.predict(
                inputs, state=state, episode_start=starts, deterministic=self._deterministic, **masks
            )

    def _input(self, observation: Any) -> Any:
        return _arrays(observation if self._observe is None else self._observe(observation))


def _arrays(observation: Any) -> Any:
    if isinstance(observation, Mapping):
        return {key: np.asarray(part) for key, part in observation.items()}
    return np.asarray(observation)


def answers_of(policy: BasePolicy) -> dict[str, Answer]:
    """Return the answers of a policy's networks to N observations."""
    answers: dict[str, Answer] = {}
    discrete = isinstance(policy.action_space, spaces.Discrete)
    if isinstance(policy, ActorCriticPolicy):
        if discrete:
            answers |= {name: _distribution_answer(policy, name) for name in ("probabilities", "logits")}
        if not hasattr(policy, "lstm_actor"):  # the critic's recurrent state is not kept while acting
            answers["value"] = _state_value(policy)
    elif discrete and (values := _action_values(policy)) is not None:
        answers["action_values"] = _answer(policy, values)
        answers["value"] = _answer(policy, lambda inputs: values(inputs).amax(1))
    elif getattr(policy, "critic", None) is not None and hasattr(policy, "actor"):
        answers["value"] = _answer(policy, lambda inputs: _lowest_value(policy, inputs))
    return answers


def best_of_vectors(policy: BasePolicy) -> Callable[[Any], Any] | None:
    """Return the function from N vectors to the best actions, None if the policy has another form.

    It does the same operations as upstream's `predict`, whose checks and conversions take several times as
    long as such a small network.
    """
    scores = _scores(policy) if isinstance(policy.action_space, spaces.Discrete) else None
    if scores is None or not _observes_vectors(policy):
        return None

    def best(vectors: Any) -> Any:
        with torch.inference_mode():
            return scores(vectors).argmax(1).numpy()

    return best


def _observes_vectors(policy: BasePolicy) -> bool:
    space: Any = policy.observation_space
    return isinstance(space, spaces.Box) and not is_image_space(space) and len(space.shape) == 1


def _scores(policy: BasePolicy) -> Values | None:
    """Return the function from vectors to the score of each action."""
    if type(policy) is ActorCriticPolicy and not policy.use_sde:
        parts = [policy.pi_features_extractor, policy.mlp_extractor.policy_net, policy.action_net]
    elif hasattr(policy, "q_net"):
        parts = [policy.q_net.features_extractor, policy.q_net.q_net]
    else:
        return None
    return _vector_network(parts)


def _vector_network(parts: Sequence[nn.Module]) -> Values:
    """Return the function from vectors to the output of a network's parts, which begin with an extractor."""
    layers = in_sequence(*(part for part in parts if type(part).__name__ != "FlattenExtractor"))
    return lambda vectors: layers(torch.from_numpy(np.asarray(vectors, np.float32)))


def _state_value(policy: ActorCriticPolicy) -> Answer:
    if type(policy) is not ActorCriticPolicy or not _observes_vectors(policy):
        return _answer(policy, lambda inputs: policy.predict_values(inputs)[:, 0])
    values = _vector_network([policy.vf_features_extractor, policy.mlp_extractor.value_net, policy.value_net])

    def answer(inputs: Any, state: Any) -> Any:
        with torch.inference_mode():
            return values(inputs)[:, 0].numpy()

    return answer


def _answer(policy: BasePolicy, values: Values) -> Answer:
    def answer(inputs: Any, state: Any) -> Any:
        with torch.inference_mode():
            return values(policy.obs_to_tensor(inputs)[0]).numpy()

    return answer


def _distribution_answer(policy: ActorCriticPolicy, name: str) -> Answer:
    def answer(inputs: Any, state: Any) -> Any:
        with torch.inference_mode():
            tensors: Any = policy.obs_to_tensor(inputs)[0]
            distribution: Any = policy.get_distribution(tensors, *_recurrent_state(policy, state, tensors))
            distribution = distribution[0] if isinstance(distribution, tuple) else distribution
            assert isinstance(distribution, CategoricalDistribution) or hasattr(distribution, "distribution")
            categorical = distribution.distribution
            return (categorical.probs if name == "probabilities" else categorical.logits).numpy()

    return answer


def _recurrent_state(policy: Any, state: Any, inputs: Any) -> tuple[Any, ...]:
    """Return the additional arguments of a recurrent policy: its state, and where episodes begin."""
    if not hasattr(policy, "lstm_actor"):
        return ()
    count = len(next(iter(inputs.values())) if isinstance(inputs, dict) else inputs)
    if state is None:
        lstm = policy.lstm_actor
        state = (np.zeros((lstm.num_layers, count, lstm.hidden_size), np.float32),) * 2
    return tuple(map(torch.as_tensor, state)), torch.zeros(count)


def _action_values(policy: Any) -> Values | None:
    if hasattr(policy, "q_net"):
        return policy.q_net
    if hasattr(policy, "quantile_net"):
        return lambda inputs: policy.quantile_net(inputs).mean(1)
    return None


def _lowest_value(policy: Any, inputs: torch.Tensor) -> torch.Tensor:
    """Return the lowest of the critics' values of the best action."""
    values = policy.critic(inputs, policy._predict(inputs, deterministic=True))
    if isinstance(values, tuple):
        return torch.cat(values, 1).amin(1)
    return values.mean((1, 2)) if values.ndim == 3 else values[:, 0]
