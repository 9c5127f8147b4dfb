"""Answers to queries of a policy besides actions: probabilities, logits, values."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import torch
from gymnasium import spaces
from mosaic_contract.policy_queries import Answer
from mosaic_contract.pytorch import in_sequence
from stable_baselines3.common.distributions import CategoricalDistribution
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.preprocessing import is_image_space
from torch import nn

Values = Callable[[Any], torch.Tensor]

_OF_DISTRIBUTIONS = ("probabilities", "logits")


def answers_of(policy: BasePolicy) -> dict[str, Answer]:
    """Return the answers of a policy's networks to N observations."""
    answers: dict[str, Answer] = {}
    discrete = isinstance(policy.action_space, spaces.Discrete)
    if isinstance(policy, ActorCriticPolicy):
        if discrete:
            answers |= {name: _of_distribution(policy, name) for name in _OF_DISTRIBUTIONS}
        if not hasattr(policy, "lstm_actor"):  # the critic's recurrent state is not kept while acting
            answers["value"] = _state_value(policy)
    elif discrete and (values := _action_values(policy)) is not None:
        answers["action_values"] = _answer(policy, values)
        answers["value"] = _answer(policy, lambda seen: values(seen).amax(1))
    elif getattr(policy, "critic", None) is not None and hasattr(policy, "actor"):
        answers["value"] = _answer(policy, lambda seen: _lowest(policy, seen))
    return answers


def best_of_vectors(policy: BasePolicy) -> Callable[[Any], Any] | None:
    """Return the function from N vectors to the best actions, None if the policy has another form.

    It does the same operations as upstream's `predict`, whose checks and conversions take several times as
    long as such a small network.
    """
    scores = _scores(policy) if isinstance(policy.action_space, spaces.Discrete) else None
    if scores is None or not _sees_vectors(policy):
        return None

    def best(vectors: Any) -> Any:
        with torch.inference_mode():
            return scores(vectors).argmax(1).numpy()

    return best


def _sees_vectors(policy: BasePolicy) -> bool:
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
    return _of_vectors(parts)


def _of_vectors(parts: Sequence[nn.Module]) -> Values:
    """Return the function from vectors to the output of a network's parts, which begin with an extractor."""
    layers = in_sequence(*(part for part in parts if type(part).__name__ != "FlattenExtractor"))
    return lambda vectors: layers(torch.from_numpy(np.asarray(vectors, np.float32)))


def _state_value(policy: ActorCriticPolicy) -> Answer:
    if type(policy) is not ActorCriticPolicy or not _sees_vectors(policy):
        return _answer(policy, lambda seen: policy.predict_values(seen)[:, 0])
    values = _of_vectors([policy.vf_features_extractor, policy.mlp_extractor.value_net, policy.value_net])

    def answer(inputs: Any, state: Any) -> Any:
        with torch.inference_mode():
            return values(inputs)[:, 0].numpy()

    return answer


def _answer(policy: BasePolicy, values: Values) -> Answer:
    def answer(inputs: Any, state: Any) -> Any:
        with torch.inference_mode():
            return values(policy.obs_to_tensor(inputs)[0]).numpy()

    return answer


def _of_distribution(policy: ActorCriticPolicy, name: str) -> Answer:
    def answer(inputs: Any, state: Any) -> Any:
        with torch.inference_mode():
            seen: Any = policy.obs_to_tensor(inputs)[0]
            drawn: Any = policy.get_distribution(seen, *_recurrent(policy, state, seen))
            drawn = drawn[0] if isinstance(drawn, tuple) else drawn
            assert isinstance(drawn, CategoricalDistribution) or hasattr(drawn, "distribution")
            return (
                drawn.distribution.probs if name == "probabilities" else drawn.distribution.logits
            ).numpy()

    return answer


def _recurrent(policy: Any, state: Any, seen: Any) -> tuple[Any, ...]:
    """Return the additional arguments of a recurrent policy: its state, and where episodes begin."""
    if not hasattr(policy, "lstm_actor"):
        return ()
    count = len(next(iter(seen.values())) if isinstance(seen, dict) else seen)
    if state is None:
        lstm = policy.lstm_actor
        state = (np.zeros((lstm.num_layers, count, lstm.hidden_size), np.float32),) * 2
    return tuple(map(torch.as_tensor, state)), torch.zeros(count)


def _action_values(policy: Any) -> Values | None:
    if hasattr(policy, "q_net"):
        return policy.q_net
    if hasattr(policy, "quantile_net"):
        return lambda seen: policy.quantile_net(seen).mean(1)
    return None


def _lowest(policy: Any, seen: torch.Tensor) -> torch.Tensor:
    """Return the lowest of the critics' values of the best action."""
    values = policy.critic(seen, policy._predict(seen, deterministic=True))
    if isinstance(values, tuple):
        return torch.cat(values, 1).amin(1)
    return values.mean((1, 2)) if values.ndim == 3 else values[:, 0]
