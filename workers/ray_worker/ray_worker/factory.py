"""Upstream's configurations and networks, made from upstream's own classes and the run's hyperparameters."""

from __future__ import annotations

import importlib
import logging
import math
import socket
from dataclasses import asdict
from typing import Any, Mapping

import torch
from mosaic_contract import ConfigError
from mosaic_contract.hyperparameters import env_kwargs_of
from mosaic_contract.pettingzoo_ids import pettingzoo_module
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.tune.registry import register_env

from .algorithms import ALGORITHMS, MODEL, SETTINGS, RllibAlgorithm
from .config import RllibPlan
from .hyperparameters import number_of, parameters_of
from .runners import EnvironmentCreator, EnvironmentRecipe, Episodes

logging.getLogger("ray.rllib").setLevel(logging.WARNING)


class PolicyOf:
    """A mapping from agents to policies, callable as upstream requires."""

    def __init__(self, policy_of: Mapping[str, str]) -> None:
        self._policy_of = dict(policy_of)

    def __call__(self, agent_id: str, *_: Any, **__: Any) -> str:
        return self._policy_of[agent_id]


def training_config(plan: RllibPlan) -> AlgorithmConfig:
    """Return the configuration of a training. Raises `ConfigError` if upstream rejects it, and if a training
    on this machine lacks the GPUs."""
    if plan.learns_here and plan.gpus > torch.cuda.device_count():
        raise ConfigError(
            f"this training needs {plan.gpus:g} GPUs for its learners, and was given "
            f"{torch.cuda.device_count()} of this machine's: lower num_gpus_per_learner, or request them "
            f"with lab.train(..., gpus={math.ceil(plan.gpus)})"
        )
    config, name = plan.config, f"mosaic-{plan.config.run_id}"
    recipe = EnvironmentRecipe(
        config.run_id,
        pettingzoo_module(config.env_id),
        config.env_id,
        env_kwargs_of(plan.hyperparameters),
        plan.spec.several,
        shown_by=1 if plan.runners else 0,
        per_runner=plan.hyperparameters["num_envs_per_env_runner"],
        host=socket.gethostname(),
        run_dir=config.run_dir,
        fastlane=asdict(config.fastlane),
        wrappers=config.wrappers,
    )
    register_env(name, EnvironmentCreator(recipe))
    upstream = algorithm_config(plan.algorithm, plan.hyperparameters)
    upstream.environment(name, env_config={}).debugging(seed=config.seed).callbacks(Episodes)
    if plan.spec.several:
        upstream.multi_agent(
            policies=sorted(set(plan.policy_of.values())), policy_mapping_fn=PolicyOf(plan.policy_of)
        )
        buffer = getattr(upstream, "replay_buffer_config", None)
        if buffer and not str(buffer["type"]).startswith("MultiAgent"):
            upstream.training(replay_buffer_config={**buffer, "type": f"MultiAgent{buffer['type']}"})
    try:
        upstream.validate()
    except ValueError as error:
        raise ConfigError(f"RLlib refuses these hyperparameters: {' '.join(str(error).split())}") from None
    return upstream


def algorithm_config(algorithm: RllibAlgorithm, values: Mapping[str, Any]) -> AlgorithmConfig:
    """Return upstream's configuration of an algorithm with these hyperparameters and no environment."""
    module, name = algorithm.config_class
    config: AlgorithmConfig = getattr(importlib.import_module(module), name)()
    chosen = {**SETTINGS, "training": (*SETTINGS["training"], *algorithm.training)}
    for method, names in chosen.items():
        getattr(config, method)(**{key: _upstreams(values[key]) for key in names})
    return config.framework("torch").rl_module(model_config=_model(algorithm, values))


def make_modules(
    name: str, values: Mapping[str, Any], spaces: Mapping[str, tuple[Any, Any]]
) -> dict[str, Any]:
    """Return a network with fresh weights for each policy, given its observation and action spaces."""
    config = algorithm_config(ALGORITHMS[name], values)
    return {
        policy: config.get_rl_module_spec(spaces={DEFAULT_MODULE_ID: pair}, inference_only=False).build()
        for policy, pair in spaces.items()
    }


def _model(algorithm: RllibAlgorithm, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model settings that differ from upstream's; algorithms have their own defaults for the rest.
    Recurrent models need the sequence length."""
    parameters = parameters_of(algorithm.name)
    differ = {
        key: values[key] for key in MODEL if key in parameters and values[key] != parameters[key].default
    }
    return {**differ, "max_seq_len": values["max_seq_len"]} if values.get("use_lstm") else differ


def _upstreams(value: Any) -> Any:
    return number_of(value) if isinstance(value, str) else value
