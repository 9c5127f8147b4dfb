"""Policies from the zip files of `model.save()`: built from spaces and plain values, with the weights.

A file's pickles are not loaded: values available only in pickles, such as the user's own classes, are
refused.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

import torch
from gymnasium import spaces
from mosaic_contract import ConfigError
from stable_baselines3.common import torch_layers
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecTransposeImage
from torch import nn

from . import networks
from .algorithms import ALGORITHMS, EVOLUTION, OFF_POLICY, Sb3Algorithm
from .environments import is_image
from .factory import upstream_class
from .model_zip import ModelZip, class_in_text

_EXTRACTORS = "stable_baselines3.common.torch_layers"
_TRAINING_ONLY = ("optimizer_class", "optimizer_kwargs")
_ACTIVATION = "torch.nn.modules.activation"


@dataclass(frozen=True)
class SavedPolicy:
    """A policy, with the probability of random actions if it is value-based."""

    policy: BasePolicy
    exploration: float
    use_sde: bool

    def of_one_agent(self) -> BasePolicy:
        """Return the policy, as a copy if it keeps noise between actions."""
        return copy.deepcopy(self.policy) if self.use_sde else self.policy


def load_policy(path: Path, algorithm: Sb3Algorithm, observations: Any, actions: Any) -> SavedPolicy:
    """Return the policy in a file, for these spaces. Raises `ConfigError`."""
    saved = ModelZip(path)
    policy_class = _policy_class(saved, algorithm)
    kwargs = dict(_policy_kwargs(saved))
    use_sde = bool(saved.number("use_sde", False))
    if use_sde and algorithm.family != OFF_POLICY:  # for other families they are among the keywords
        kwargs["use_sde"] = True
    schedule = () if algorithm.family == EVOLUTION else (_zero_rate,)
    states, _ = saved.parameters()
    try:
        policy = policy_class(channels_first(observations), actions, *schedule, **kwargs)
        policy.load_state_dict(states["policy"])
    except (RuntimeError, TypeError, ValueError, KeyError, AssertionError) as error:
        raise ConfigError(f"the weights of {path} do not fit a policy for these spaces: {error}") from None
    return finished(policy, saved.number("exploration_rate", 0.0), use_sde)


def finished(policy: BasePolicy, exploration: float, use_sde: bool) -> SavedPolicy:
    """Return a policy prepared for acting."""
    policy.set_training_mode(False)
    if use_sde:
        with torch.no_grad():
            policy.reset_noise()
    return SavedPolicy(policy, float(exploration), use_sde)


def channels_first(space: Any) -> Any:
    """Return a space with its images in the form of upstream's policies."""
    if isinstance(space, spaces.Dict):
        return spaces.Dict({key: channels_first(part) for key, part in space.spaces.items()})
    if is_image(space) and min(space.shape) != space.shape[0]:
        return VecTransposeImage.transpose_space(space)
    return space


def _policy_class(saved: ModelZip, algorithm: Sb3Algorithm) -> Any:
    classes = _own_classes(algorithm)
    name = saved.class_name("policy_class")
    if name not in classes:
        if owners := [owner.name for owner in ALGORITHMS.values() if name in _own_classes(owner)]:
            raise ConfigError(
                f"{saved.path} has a policy of {' or '.join(owners)}, not of {algorithm.name}: leave "
                "algorithm out, or give that one"
            )
        raise ConfigError(
            f"{saved.path} has a policy of the class {name}, which is not one of {algorithm.upstream}'s own "
            f"({', '.join(classes)}): it would have to be unpickled, which can run any code"
        )
    return classes[name]


def _own_classes(algorithm: Sb3Algorithm) -> dict[str, Any]:
    """Return the classes of an algorithm's own policies, by name."""
    classes = upstream_class(algorithm).policy_aliases.values()
    return {f"{policy_class.__module__}.{policy_class.__name__}": policy_class for policy_class in classes}


def _policy_kwargs(saved: ModelZip) -> Iterator[tuple[str, Any]]:
    for name, value in saved.attributes("policy_kwargs").items():
        if name in _TRAINING_ONLY:
            continue
        if name == "net_arch" and isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0]  # the format of Stable-Baselines3 1
        if isinstance(value, str):
            value = _known_class(saved, name, value)
        yield name, value


def _known_class(saved: ModelZip, name: str, text: str) -> Any:
    module, _, last = class_in_text(text).rpartition(".")
    owner = {_ACTIVATION: nn, _EXTRACTORS: torch_layers, networks.__name__: networks}.get(module)
    if owner is not None and hasattr(owner, last):
        return getattr(owner, last)
    raise ConfigError(
        f"{saved.path} was saved with policy_kwargs {name}={text:.200}, which is not one of upstream's own: "
        "it would have to be unpickled, which can run any code"
    )


def _zero_rate(progress: float) -> float:
    return 0.0
