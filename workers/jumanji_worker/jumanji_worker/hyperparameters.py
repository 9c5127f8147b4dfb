"""The hyperparameters, from upstream's own files: names, types, defaults, descriptions.

A2C's are in the configuration of each environment, PPO's in a signature, which is parsed: importing upstream
would take ten seconds.
"""

from __future__ import annotations

import ast
import copy
import functools
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

import yaml
from mosaic_contract import Parameter, upstream_folder, with_limits
from mosaic_contract.hyperparameters import ENV_KWARGS, merged
from mosaic_contract.metadata import Algorithm
from mosaic_contract.upstream import arguments_of, class_in, meanings_of

from .environments import TRAINED, bare

_NOT_BUILT_BY = {  # may change when resuming from a checkpoint
    "n_steps", "normalize_advantage", "discount_factor", "bootstrapping_factor", "l_pg", "l_td", "l_en",
    "learning_rate", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range", "ent_coef", "vf_coef",
    "max_grad_norm", "target_kl", "n_envs",
}  # fmt: skip
_AT_MOST_ONE = {"gamma", "gae_lambda", "discount_factor", "bootstrapping_factor"}
_ABOVE_ZERO = {"learning_rate", "clip_range", "max_grad_norm", "target_kl"}
_MINIMA = {"batch_size": 2}  # advantages are normalized over it
_SECTIONS = ("network", "training", "a2c")
_REPLACED = {"num_epochs", "num_learner_steps_per_epoch"}  # replaced by total_timesteps
_TYPES = {"int": int, "float": float, "bool": bool}
_UNUSED = {"clip_range_vf", "use_sde", "sde_sample_freq", "verbose", "seed", "_init_setup_model"}
PPO_PARAMETERS = {
    "n_envs": Parameter("n_envs", int, 16, help="environments that are stepped together"),
    "net_arch": Parameter("net_arch", list, [64, 64], help="widths of the hidden layers"),
    ENV_KWARGS.name: ENV_KWARGS,
}


def all_hyperparameters() -> Mapping[str, list[Parameter]]:
    """Return the parameters of every algorithm; A2C's have no default if it depends on the environment."""
    a2c = merged({env_id: _a2c_parameters(name) for env_id, name in TRAINED.items()})
    return {"a2c": list(a2c), "ppo": list(_ppo_parameters().values())}


def bound(names: Iterable[str]) -> dict[str, str]:
    """Return the hyperparameters that a resumed training cannot change, each with the reason."""
    reason = "the networks or environments of a checkpoint depend on it"
    return {name: reason for name in names if name not in _NOT_BUILT_BY}


@dataclass(frozen=True)
class JumanjiAlgorithm(Algorithm):
    """One algorithm: Jumanji's own A2C, or SBX's PPO."""

    name: str
    actions = ("discrete", "multidiscrete")
    on_policy = True
    resumes_elsewhere = False

    @property
    def bound(self) -> dict[str, str]:
        return bound(parameter.name for parameter in all_hyperparameters()[self.name])


ALGORITHMS = {name: JumanjiAlgorithm(name) for name in ("a2c", "ppo")}


def parameters_of(algorithm: str, env_id: str) -> dict[str, Parameter]:
    """Return the parameters of one algorithm on one environment, by name."""
    return _ppo_parameters() if algorithm == "ppo" else _a2c_parameters(TRAINED[bare(env_id)])


def upstream_document(name: str) -> dict[str, Any]:
    """Return a modifiable copy of upstream's configuration of an environment."""
    return copy.deepcopy(_document(name))


@functools.cache
def _document(name: str) -> dict[str, Any]:
    file = upstream_folder("jumanji") / "training" / "configs" / "env" / f"{name}.yaml"
    document: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    for section in _SECTIONS:
        document[section] = {  # "3e-4" is a string in YAML
            key: float(value) if isinstance(value, str) else value for key, value in document[section].items()
        }
    return document


def _a2c_parameters(name: str) -> dict[str, Parameter]:
    parameters = {
        key: Parameter(key, type(value), value)
        for section in _SECTIONS
        for key, value in _document(name)[section].items()
        if key not in _REPLACED
    }
    return _limited({**parameters, ENV_KWARGS.name: ENV_KWARGS})


@functools.cache
def _ppo_parameters() -> dict[str, Parameter]:
    node = class_in(upstream_folder("sbx") / "ppo" / "ppo.py", "PPO")
    meanings = meanings_of(ast.get_docstring(node))
    parameters = {}
    for argument, default in arguments_of(node):
        types = ast.unparse(argument.annotation).split(" | ") if argument.annotation else []
        value_type = next((_TYPES[text] for text in types if text in _TYPES), None)
        name = argument.arg
        if value_type is not None and name not in _UNUSED:
            parameters[name] = Parameter(name, value_type, ast.literal_eval(default), meanings.get(name, ""))
    return _limited({**parameters, **PPO_PARAMETERS})


def _limited(parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    return with_limits(parameters, minima=_MINIMA, above_zero=_ABOVE_ZERO, to_one=_AT_MOST_ONE)
