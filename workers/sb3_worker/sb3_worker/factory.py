"""Upstream's algorithms and policies, made from hyperparameters."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any, Mapping

import numpy as np
from stable_baselines3.common import torch_layers
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from . import networks
from .algorithms import Sb3Algorithm
from .config import Sb3Plan
from .hyperparameters import constructor_parameters, policy_parameters

_ACTIVATIONS = {
    "tanh": nn.Tanh, "relu": nn.ReLU, "leaky_relu": nn.LeakyReLU, "elu": nn.ELU, "gelu": nn.GELU,
    "silu": nn.SiLU,
}  # fmt: skip


def upstream_class(algorithm: Sb3Algorithm) -> type[BaseAlgorithm]:
    """Return upstream's class of an algorithm."""
    upstream_class: type[BaseAlgorithm] = resolve_name(f"{algorithm.package}:{algorithm.upstream}")
    return upstream_class


def make_model(plan: Sb3Plan, envs: VecEnv, device: str) -> BaseAlgorithm:
    """Return upstream's algorithm with fresh weights, on these environments."""
    algorithm, values = plan.algorithm, plan.hyperparameters
    arguments = {name: values[name] for name in constructor_parameters(algorithm.name)}
    for name in {"ent_coef", "target_entropy"} & set(arguments):
        arguments[name] = "auto" if arguments[name] is None else arguments[name]
    if values.get("learning_rate_schedule") == "linear":
        arguments["learning_rate"] = LinearSchedule(values["learning_rate"], 0.0, 1.0)
    if values.get("clip_range_schedule") == "linear":
        arguments["clip_range"] = LinearSchedule(values["clip_range"], 0.0, 1.0)
    if values.get("action_noise"):
        shape = plan.spec.action_space.shape
        arguments["action_noise"] = NormalActionNoise(np.zeros(shape), np.full(shape, values["action_noise"]))
    kwargs = _policy_kwargs(algorithm, values)
    if plan.sees_small_pictures:
        kwargs.setdefault("features_extractor_class", networks.SmallCnn)
    model_class: Any = upstream_class(algorithm)
    model: BaseAlgorithm = model_class(
        plan.policy, envs, policy_kwargs=kwargs, seed=plan.config.seed, device=device, **arguments
    )
    return model


def _policy_kwargs(algorithm: Sb3Algorithm, values: Mapping[str, Any]) -> dict[str, Any]:
    kwargs = {name: values[name] for name in policy_parameters(algorithm.name)} | values["policy_kwargs"]
    if (extractor := kwargs.get("features_extractor_class")) is not None:
        owner = networks if hasattr(networks, extractor) else torch_layers
        kwargs["features_extractor_class"] = getattr(owner, extractor)
    if values["net_arch"] is not None:
        critic = values.get("critic_net_arch")
        arch = values["net_arch"]
        kwargs["net_arch"] = arch if critic is None else {"pi": arch, algorithm.critic: critic}
    if values["activation_fn"] is not None:
        kwargs["activation_fn"] = _ACTIVATIONS[values["activation_fn"]]
    return kwargs
