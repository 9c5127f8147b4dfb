"""The hyperparameters of each algorithm, from upstream's own YAML configurations: names, types, defaults.
Importing upstream takes seconds, too long for a listing of workers: only its files are read."""

from __future__ import annotations

import functools
import re
from typing import Any, Mapping

import yaml
from mosaic_contract import Parameter, upstream_folder, with_limits
from mosaic_contract.environment_spec import CONTINUOUS, DISCRETE
from mosaic_contract.hyperparameters import ENV_KWARGS, merged

from .algorithms import ALGORITHMS, GAMES

_FIXED = {  # set by the run's configuration and the environment's spaces
    "agent", "env_name", "env_id", "env_seed", "learner", "policy", "representation", "vectorize", "runner",
    "seed", "running_steps", "eval_interval", "test_episode", "log_dir", "model_dir", "use_actions_mask",
    "representation_critic",
    "obs_type", "img_size", "num_stack", "frame_skip", "noop_max",  # by the wrapper "atari"
}  # fmt: skip
_UNUSED = {"clip_type", "initialize", "gain", "target_kl", "kl_coef", "sigma"}
"""Keys in upstream's configuration files that none of these algorithms uses."""

# numbers that happen to be whole in upstream's files
_NUMBERS = {"weight_decay", "dropout", "obsnorm_range", "rewnorm_range"}
_ACTIVATIONS = ("relu", "leaky_relu", "tanh", "sigmoid", "elu")
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "activation": _ACTIVATIONS,
    "activation_action": _ACTIVATIONS,
    "rnn": ("GRU", "LSTM"),
    "normalize": ("LayerNorm",),
}
_MINIMA = {"start_training": 0, "v_min": None, "v_max": None}
_AT_MOST_ONE = {"gamma", "gae_lambda", "tau", "dropout", "start_greedy", "end_greedy"}
_ABOVE_ZERO = {"learning_rate", "learning_rate_actor", "learning_rate_critic", "huber_delta"}
_MEANINGS = {"weight_decay": "weight decay of Adam"}  # upstream's comment there describes something else
_BACKEND = Parameter("backend", str, "torch", "upstream's deep learning toolbox", ("torch",))
_DEVICE = Parameter(
    "device",
    str,
    "auto",
    "where the networks are; auto: a GPU if there is one",
    ("auto", "cpu", "cuda", "cuda:0"),
)
_MINIBATCH = Parameter("batch_size", int, None, "transitions of a minibatch, instead of n_minibatch")
CONTINUOUS_ACTION = "continuous_action"


def all_hyperparameters() -> Mapping[str, list[Parameter]]:
    """Return the parameters of every algorithm, without a default where it depends on the kind of actions."""
    return {
        name: list(merged({key: parameters_of(name, key) for key in algorithm.configured}))
        for name, algorithm in ALGORITHMS.items()
    }


@functools.cache
def parameters_of(name: str, config_key: str) -> dict[str, Parameter]:
    """Return the parameters of one algorithm by name, with upstream's values for a kind of actions."""
    algorithm = ALGORITHMS[name]
    meanings = _meanings(algorithm.file(config_key))
    parameters = {
        key: _parameter(key, value, meanings.get(key, ""))
        for key, value in _file(algorithm.file(config_key)).items()
        if key not in _FIXED | _UNUSED
    }
    if CONTINUOUS_ACTION in parameters:
        # The environments' own default, used by arenas: discrete if an algorithm supports both.
        default, actions = DISCRETE not in algorithm.policies, " or ".join(algorithm.actions)
        parameters[CONTINUOUS_ACTION] = Parameter(
            CONTINUOUS_ACTION, bool, default, f"mpe2's continuous actions; {name}: {actions}"
        )
    if CONTINUOUS not in algorithm.policies or config_key == GAMES:
        parameters.pop("activation_action", None)
    if algorithm.on_policy:
        parameters["batch_size"] = _MINIBATCH
    parameters |= {"device": _DEVICE, "backend": _BACKEND, ENV_KWARGS.name: ENV_KWARGS}
    return with_limits(parameters, minima=_MINIMA, above_zero=_ABOVE_ZERO, to_one=_AT_MOST_ONE)


def configuration(name: str, config_key: str) -> dict[str, Any]:
    """Return all settings in upstream's files for an algorithm, including its `basic.yaml`."""
    return {**_file("basic.yaml"), **_file(ALGORITHMS[name].file(config_key))}


def _parameter(name: str, value: Any, meaning: str) -> Parameter:
    if name in _NUMBERS:
        value = float(value)
    return Parameter(name, type(value), value, meaning, _CHOICES.get(name, ()))


@functools.cache
def _file(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load(_text(name)))


def _meanings(file: str) -> dict[str, str]:
    """Return upstream's comment on each hyperparameter."""
    lines = re.findall(r"^(\w+):[^#\n]*#\s*(.+?)\.?\s*$", _text(file), re.MULTILINE)
    return {**dict(lines), **_MEANINGS}


def _text(file: str) -> str:
    return (upstream_folder("xuance", "XuanCe") / "configs" / file).read_text(encoding="utf-8")
