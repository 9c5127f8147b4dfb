"""The hyperparameters of each algorithm, from upstream's source text: names, types, defaults, descriptions.

Importing upstream takes seconds, too long for a listing of workers: its files are parsed without executing
them. Arguments that are objects (policies, noise, schedules) are defined in `algorithms.own_parameters`.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import replace
from typing import Iterator, Mapping

from mosaic_contract import Parameter, upstream_folder, with_limits
from mosaic_contract.hyperparameters import ENV_KWARGS
from mosaic_contract.upstream import arguments_of, class_in, meanings_of

from .algorithms import ALGORITHMS, own_parameters

_LIBRARIES = {"stable_baselines3": "Stable-Baselines3", "sb3_contrib": "sb3-contrib"}
_TYPES = {"float": float, "int": int, "bool": bool}  # the first in an annotation is used
_FIXED = {"seed", "verbose", "optimize_memory_usage", "_init_setup_model"}
_NOT_IN_KWARGS = {
    "self", "observation_space", "action_space", "lr_schedule", "optimizer_class", "optimizer_kwargs",
    "with_bias",
}  # fmt: skip
_HELP = {  # if upstream's text is long, missing, or not about a number
    "n_steps": "Steps of each environment from one update to the next",
    "train_freq": "Steps of each environment from one update to the next",
    "gradient_steps": "Gradient steps of an update; -1: as many as there were steps",
    "target_kl": "Limit of the KL divergence of an update; None: no limit",
    "stats_window_size": "Episodes that the metrics rollout/... are means of",
    "use_sde": "Explore by noise that depends on the state (gSDE); for continuous actions",
    "sde_sample_freq": "Steps from one noise of gSDE to the next; -1: one for each collection",
}
_HELP_OFF_POLICY = {"n_steps": "Steps of n-step returns"}
_HELP_LEARNED = {  # of parameters with a string as default
    "ent_coef": "Entropy coefficient; None or 'auto': it is learned",
    "target_entropy": "Entropy to reach where ent_coef is learned; None or 'auto': by the action space",
}
_OR_FUNCTION = "it can be a function"  # schedules, which have their own parameters here
_MINIMA = {  # minimum values other than 1 for integers and 0 for other numbers
    "learning_starts": 0, "gradient_steps": -1, "sde_sample_freq": -1, "top_quantiles_to_drop_per_net": 0,
    "target_entropy": None, "alive_bonus_offset": None, "log_std_init": None,
}  # fmt: skip
_AT_MOST_ONE = {
    "gamma", "gae_lambda", "tau", "exploration_fraction", "exploration_initial_eps", "exploration_final_eps",
    "line_search_shrinking_factor",
}  # fmt: skip
_ABOVE_ZERO = {
    "learning_rate", "clip_range", "clip_range_vf", "target_kl", "delta_std", "exploration_fraction",
    "max_grad_norm", "rms_prop_eps", "cg_damping",
}  # fmt: skip


def all_hyperparameters() -> Mapping[str, list[Parameter]]:
    """Return the parameters of every algorithm."""
    return {name: list(parameters_of(name).values()) for name in ALGORITHMS}


@functools.cache
def parameters_of(name: str) -> dict[str, Parameter]:
    """Return the parameters of one algorithm by name."""
    algorithm = ALGORITHMS[name]
    parameters = {parameter.name: parameter for parameter in own_parameters(algorithm)}
    parameters[ENV_KWARGS.name] = ENV_KWARGS
    return {**constructor_parameters(name), **policy_parameters(name), **_limited(parameters)}


@functools.cache
def constructor_parameters(name: str) -> dict[str, Parameter]:
    """Return the hyperparameters of the constructor of upstream's algorithm, by name."""
    algorithm = ALGORITHMS[name]
    return _limited(dict(_class_parameters(algorithm.file, algorithm.upstream)))


@functools.cache
def policy_parameters(name: str) -> dict[str, Parameter]:
    """Return the hyperparameters of upstream's policy class, by name."""
    algorithm = ALGORITHMS[name]
    if not algorithm.policy_parameters:
        return {}
    parameters = dict(_class_parameters(*algorithm.policy))
    return _limited({name: parameters[name] for name in algorithm.policy_parameters})


@functools.cache
def policy_keywords(name: str) -> tuple[str, ...]:
    """Return the arguments of upstream's policy class that are given in `policy_kwargs`, those with a
    hyperparameter of their own included."""
    file, class_name = ALGORITHMS[name].policy
    package, _, module_path = file.partition("/")
    node = class_in(upstream_folder(package, _LIBRARIES[package]) / module_path, class_name)
    arguments = {argument.arg for argument, _ in arguments_of(node)}
    return tuple(sorted(arguments - _NOT_IN_KWARGS))


def _limited(parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    return with_limits(parameters, minima=_MINIMA, above_zero=_ABOVE_ZERO, to_one=_AT_MOST_ONE)


def _class_parameters(file: str, name: str) -> Iterator[tuple[str, Parameter]]:
    package, _, module_path = file.partition("/")
    node = class_in(upstream_folder(package, _LIBRARIES[package]) / module_path, name)
    arguments = {argument.arg: (argument, default) for argument, default in arguments_of(node)}
    meanings = meanings_of(ast.get_docstring(node))
    meanings = {name: text.partition(_OR_FUNCTION)[0].strip(", ") for name, text in meanings.items()} | _HELP
    if "train_freq" in arguments:
        meanings |= _HELP_OFF_POLICY
    for key, (argument, default) in arguments.items():
        parameter = _parameter(key, argument.annotation, default)
        if parameter is not None and key not in _FIXED:
            is_text = isinstance(ast.literal_eval(default), str)
            text = _HELP_LEARNED[key] if is_text else meanings.get(key, "")
            yield key, replace(parameter, help=text)


def _parameter(name: str, annotation: ast.expr | None, default: ast.expr) -> Parameter | None:
    """Return the parameter; None for a value that is neither a number nor a bool. A string in place of a
    number ("auto") becomes None."""
    if annotation is None:
        return None
    types = [part.strip() for part in ast.unparse(annotation).split("|")]
    value_type = next((type_ for text, type_ in _TYPES.items() if text in types), None)
    if value_type is None:
        return None
    value = ast.literal_eval(default)
    return Parameter(name, value_type, None if value is None or isinstance(value, str) else value_type(value))
