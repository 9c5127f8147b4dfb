"""The hyperparameters of each algorithm, from upstream's source text: names, types, defaults, descriptions.

Importing upstream takes seconds, too long for a listing of workers: its files are parsed without executing
them. Arguments that are objects (networks, optimizers) are defined in `algorithms.ADDED`.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import replace
from typing import Any, Iterator, Mapping

from mosaic_contract import Parameter, upstream_folder, with_limits
from mosaic_contract.hyperparameters import ENV_KWARGS
from mosaic_contract.upstream import arguments_of, class_in, fields_of, first_sentence, meanings_of, method_of

from .algorithms import ACTOR_CRITIC, ADDED, ALGORITHMS, OFFLINE, ON_POLICY, VALUE, TianshouAlgorithm

_TYPES = {"int": int, "float": float, "bool": bool, "str": str}
_FIXED = {
    "eps_inference", "deterministic_eval", "action_scaling", "action_bound_method", "min_action",
    "max_action",
}  # fmt: skip
_ONLINE = ("OnlineTrainerParams", ("collection_step_num_env_steps",))
_OFF_POLICY = ("OffPolicyTrainerParams", ("batch_size", "update_step_num_gradient_steps_per_sample"))
_TRAINER_PARAMETERS = {  # of the trainer; the others are callbacks, or set by total_timesteps
    VALUE: (_ONLINE, _OFF_POLICY),
    ACTOR_CRITIC: (_ONLINE, _OFF_POLICY),
    ON_POLICY: (_ONLINE, ("OnPolicyTrainerParams", ("batch_size", "update_step_num_repetitions"))),
    OFFLINE: (
        ("TrainerParams", ("epoch_num_steps", "test_step_num_episodes")),
        ("OfflineTrainerParams", ("batch_size",)),
    ),
}
_MINIMA = {  # minimum values other than 1 for integers and 0 for other numbers
    "target_update_freq": 0, "start_timesteps": 0, "layer_num": 0, "max_backtracks": 0, "num_atoms": 2,
    "sample_size": 2, "online_sample_size": 2, "target_sample_size": 2, "v_min": None, "v_max": None,
    "dual_clip": 1, "lagrange_threshold": None,
}  # fmt: skip
_AT_MOST_ONE = {
    "gamma", "gae_lambda", "tau", "eps_training", "backtrack_coeff", "lmbda", "phi",
    "unlikely_action_threshold",
}  # fmt: skip
_ABOVE_ZERO = {
    "lr", "actor_lr", "critic_lr", "alpha_lr", "cql_alpha_lr", "vae_lr", "disc_lr", "temperature",
    "update_step_num_gradient_steps_per_sample",
}  # fmt: skip


def all_hyperparameters() -> Mapping[str, list[Parameter]]:
    """Return the parameters of every algorithm."""
    return {name: list(parameters_of(name).values()) for name in ALGORITHMS}


@functools.cache
def parameters_of(name: str) -> dict[str, Parameter]:
    """Return the parameters of one algorithm by name."""
    algorithm = ALGORITHMS[name]
    added = {parameter.name: parameter for parameter in (*ADDED[algorithm.family], *algorithm.extra)}
    parameters = {
        **dict(_algorithm_parameters(algorithm)),
        **dict(_trainer_parameters(algorithm.family)),
        **added,
    }
    parameters = {
        key: replace(parameter, default=algorithm.defaults.get(key, parameter.default))
        for key, parameter in parameters.items()
    }
    parameters[ENV_KWARGS.name] = ENV_KWARGS
    return with_limits(parameters, minima=_MINIMA, above_zero=_ABOVE_ZERO, to_one=_AT_MOST_ONE)


def _algorithm_parameters(algorithm: TianshouAlgorithm) -> Iterator[tuple[str, Parameter]]:
    for module, name in filter(None, ((algorithm.module, algorithm.upstream), algorithm.policy)):
        node = _class(f"algorithm/*/{module}.py", name)
        init = method_of(node, "__init__")
        meanings = meanings_of(ast.get_docstring(init) if init else None)
        for argument, default in arguments_of(node):
            parameter = _parameter(argument.arg, argument.annotation, default)
            if parameter is not None and argument.arg not in _FIXED:
                yield argument.arg, replace(parameter, help=meanings.get(argument.arg, ""))


def _trainer_parameters(family: str) -> Iterator[tuple[str, Parameter]]:
    for class_name, names in _TRAINER_PARAMETERS[family]:
        for name, field, text in fields_of(_class("trainer.py", class_name)):
            if name in names and (parameter := _parameter(name, field.annotation, field.value)):
                yield name, replace(parameter, help=first_sentence(text))


def _class(file: str, name: str) -> ast.ClassDef:
    (path,) = upstream_folder("tianshou", "Tianshou").glob(file)
    return class_in(path, name)


def _parameter(name: str, annotation: ast.expr | None, default: ast.expr | None) -> Parameter | None:
    """Return the parameter, None for a value that is not a number, boolean or string."""
    if annotation is None or default is None:
        return None
    types = [part.strip() for part in ast.unparse(annotation).split("|")]
    choices: tuple[Any, ...] = ()
    if types[0].startswith("Literal["):
        choices = tuple(ast.literal_eval(f"({types[0][len('Literal[') : -1]},)"))
        types = ["str"]
    if types[0] not in _TYPES:
        return None
    value = ast.literal_eval(default)
    value_type = _TYPES[types[0]]
    return Parameter(name, value_type, value if value is None else value_type(value), choices=choices)
