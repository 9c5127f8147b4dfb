"""Tuned hyperparameters of rl_zoo3, from the tables in its wheel. It is never imported."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any, Iterator, Mapping

import yaml
from mosaic_contract import ConfigError, TrainingConfig, upstream_folder
from mosaic_contract.atari import ATARI
from mosaic_contract.config import nearest
from mosaic_contract.registry import is_atari_game

from .algorithms import ALGORITHMS
from .hyperparameters import parameters_of, policy_keywords

_FILES = {"recurrent_ppo": "ppo_lstm"}
_WRAPPERS = {
    "stable_baselines3.common.atari_wrappers.AtariWrapper": ATARI,
    "minigrid.wrappers.FlatObsWrapper": "flat",
}
"""This worker's equivalents of the tables' wrappers."""
_HANDLED_APART = {
    "n_timesteps", "optimize_memory_usage", "noise_type", "noise_std", "n_envs", "normalize",
    "env_wrapper", "frame_stack", "policy_kwargs",
}  # fmt: skip
_LINEAR = re.compile(r"lin_([\d.e+-]+)")
_ACTIVATION = re.compile(r"(?<=activation_fn=)nn\.(\w+)")
_RENAMED = {"LeakyReLU": "leaky_relu"}


def with_tuned(config: TrainingConfig) -> TrainingConfig:
    """Return a configuration; if it is `tuned`, complete it with the tuned values. Raises `ConfigError` if
    there are none for its algorithm and environment, listing the environments that have some."""
    if config.hyperparameters.get("tuned") is not True or config.algorithm not in ALGORITHMS:
        return config
    table = _table(config.algorithm)
    name = ATARI if is_atari_game(config.env_id) else config.env_id
    if name not in table:
        tuned_ids = sorted(set(table) - {"default", ATARI}) + (["Atari games"] if ATARI in table else [])
        hint = (
            f"{nearest(name, tuned_ids)} It has {', '.join(tuned_ids)}"
            if tuned_ids
            else ", and none for others"
        )
        raise ConfigError(f"tuned: rl_zoo3 has no values of {config.algorithm} for {config.env_id}{hint}")
    tuned = table[name]
    values = dict(_values(config, tuned))
    wrappers = config.wrappers or tuple(_wrappers(config, tuned))
    return replace(config, hyperparameters={**values, **config.hyperparameters}, wrappers=wrappers)


def _table(algorithm: str) -> Mapping[str, Mapping[str, Any]]:
    file = upstream_folder("rl_zoo3", "rl_zoo3") / "hyperparams" / f"{_FILES.get(algorithm, algorithm)}.yml"
    return dict(yaml.safe_load(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def _values(config: TrainingConfig, tuned: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    parameters = parameters_of(config.algorithm)
    if "n_envs" in tuned and "num_envs" in parameters:
        yield "num_envs", tuned["n_envs"]
    if "noise_std" in tuned:
        if tuned.get("noise_type") != "normal":
            raise _unusable(config, f"noise_type={tuned.get('noise_type')!r}")
        yield "action_noise", tuned["noise_std"]
    if "policy_kwargs" in tuned:
        kwargs = _expression(str(tuned["policy_kwargs"]))
        accepted = {*parameters, *policy_keywords(config.algorithm)}
        if unknown := sorted(set(kwargs) - accepted):
            raise _unusable(config, f"policy_kwargs {', '.join(unknown)}")
        yield "policy_kwargs", kwargs
    for name, value in tuned.items():
        if name in _HANDLED_APART:
            continue
        if name not in parameters or isinstance(value, list):
            raise _unusable(config, f"{name}={value!r}")
        if isinstance(value, str) and (linear := _LINEAR.fullmatch(value)):
            yield f"{name}_schedule", "linear"
            value = linear[1]
        number = parameters[name].type in (int, float) and isinstance(value, str) and value != "auto"
        yield name, float(value) if number else value


def _wrappers(config: TrainingConfig, tuned: Mapping[str, Any]) -> Iterator[Any]:
    wrappers = tuned.get("env_wrapper") or []
    listed = [wrappers] if isinstance(wrappers, str) else wrappers
    names = [wrapper if isinstance(wrapper, str) else next(iter(wrapper)) for wrapper in listed]
    if len(names) == 1 and names[0] in _WRAPPERS:
        yield _WRAPPERS[names[0]]
    elif names:
        raise _unusable(config, f"env_wrapper {', '.join(names)}")
    elif "frame_stack" in tuned:
        yield {"frame_stack": tuned["frame_stack"]}
    normalize = tuned.get("normalize", False)
    components = normalize if isinstance(normalize, bool) else _expression(str(normalize))
    for name, key in (("normalize_observation", "norm_obs"), ("normalize_reward", "norm_reward")):
        if components is True or (isinstance(components, dict) and components.get(key, True)):
            discounts = name == "normalize_reward" and "gamma" in tuned
            yield {name: {"gamma": tuned["gamma"]}} if discounts else name


def _expression(text: str) -> dict[str, Any]:
    """Return the keywords of "dict(…)" or the value of "{…}", with activations under this worker's names."""
    text = _ACTIVATION.sub(lambda match: repr(_RENAMED.get(match[1], match[1].lower())), text.strip())
    return dict(_literal(ast.parse(text, mode="eval").body))


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return {str(keyword.arg): _literal(keyword.value) for keyword in node.keywords}
    try:
        return ast.literal_eval(node)
    except ValueError:  # a class, whose argument this worker does not have
        return ast.unparse(node)


def _unusable(config: TrainingConfig, entry: str) -> ConfigError:
    return ConfigError(
        f"tuned: rl_zoo3's values of {config.algorithm} for {config.env_id} have {entry}, which this worker "
        "does not have: give the hyperparameters yourself"
    )
