"""The hyperparameters of each algorithm, out of upstream's source text: names, types, defaults, meanings.

Upstream takes seconds to import, and a listing of workers should not: its files are parsed, nothing of them
runs. What a signature takes as an object (networks, optimisers) stands in `algorithms.OWN`.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Iterator, Mapping

from mosaic_contract import Parameter, upstream_folder

from .algorithms import ACTOR_CRITIC, ALGORITHMS, OFFLINE, ON_POLICY, OWN, VALUE, Algorithm

_TYPES = {"int": int, "float": float, "bool": bool, "str": str}
_DECIDED_HERE = {
    "eps_inference", "deterministic_eval", "action_scaling", "action_bound_method", "min_action",
    "max_action",
}  # fmt: skip
_ONLINE = ("OnlineTrainerParams", ("collection_step_num_env_steps",))
_OFF_POLICY = ("OffPolicyTrainerParams", ("batch_size", "update_step_num_gradient_steps_per_sample"))
_TRAINER_PARAMETERS = {  # of the trainer; the others are callbacks, or counted by total_timesteps
    VALUE: (_ONLINE, _OFF_POLICY),
    ACTOR_CRITIC: (_ONLINE, _OFF_POLICY),
    ON_POLICY: (_ONLINE, ("OnPolicyTrainerParams", ("batch_size", "update_step_num_repetitions"))),
    OFFLINE: (
        ("TrainerParams", ("epoch_num_steps", "test_step_num_episodes")),
        ("OfflineTrainerParams", ("batch_size",)),
    ),
}


def all_hyperparameters() -> Mapping[str, list[Parameter]]:
    """Return the parameters of every algorithm."""
    return {name: list(parameters_of(name).values()) for name in ALGORITHMS}


@functools.cache
def parameters_of(name: str) -> dict[str, Parameter]:
    """Return the parameters of one algorithm by their names."""
    algorithm = ALGORITHMS[name]
    found = {
        **dict(_of_algorithm(algorithm)),
        **dict(_of_trainer(algorithm.family)),
        **OWN[algorithm.family],
        **algorithm.extra,
    }
    return {
        key: replace(parameter, default=algorithm.defaults.get(key, parameter.default))
        for key, parameter in found.items()
    }


def _of_algorithm(algorithm: Algorithm) -> Iterator[tuple[str, Parameter]]:
    for source in (algorithm.source, algorithm.policy):
        if source is None:
            continue
        module, name = source
        node = _class(f"algorithm/*/{module}.py", name)
        init = next(n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
        meanings = _meanings(ast.get_docstring(init) or "")
        for argument, default in _arguments(init):
            parameter = _parameter(argument.arg, argument.annotation, default)
            if parameter is not None and argument.arg not in _DECIDED_HERE:
                yield argument.arg, replace(parameter, help=meanings.get(argument.arg, ""))


def _of_trainer(family: str) -> Iterator[tuple[str, Parameter]]:
    for class_name, names in _TRAINER_PARAMETERS[family]:
        body = _class("trainer.py", class_name).body
        for field, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign) and ast.unparse(field.target) in names:
                key = ast.unparse(field.target)
                parameter = _parameter(key, field.annotation, field.value)
                if parameter is not None:
                    yield key, replace(parameter, help=_first_sentence(_string(after)))


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _class(file: str, name: str) -> ast.ClassDef:
    (path,) = upstream_folder("tianshou", "Tianshou").glob(file)
    body = _tree(path).body
    return next(node for node in body if isinstance(node, ast.ClassDef) and node.name == name)


def _arguments(init: ast.FunctionDef) -> Iterator[tuple[ast.arg, ast.expr]]:
    """Return the arguments with defaults; the others are objects."""
    positional = init.args.args[len(init.args.args) - len(init.args.defaults) :]
    yield from zip(positional, init.args.defaults, strict=True)
    for argument, default in zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True):
        if default is not None:
            yield argument, default


def _parameter(name: str, annotation: ast.expr | None, default: ast.expr | None) -> Parameter | None:
    """Return the parameter, None for a value that is not a number, switch or word."""
    if annotation is None or default is None:
        return None
    kinds = [part.strip() for part in ast.unparse(annotation).split("|")]
    choices: tuple[Any, ...] = ()
    if kinds[0].startswith("Literal["):
        choices = tuple(ast.literal_eval(f"({kinds[0][len('Literal[') : -1]},)"))
        kinds = ["str"]
    if kinds[0] not in _TYPES:
        return None
    value = ast.literal_eval(default)
    kind = _TYPES[kinds[0]]
    return Parameter(name, kind, value if value is None else kind(value), choices=choices)


def _meanings(docstring: str) -> dict[str, str]:
    """The first sentence of what a docstring says of each parameter."""
    parts = re.split(r"^\s*:param (\w+):", docstring, flags=re.MULTILINE)
    return {name: _first_sentence(text) for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[^.]\.)\s|\n\s*\n", " ".join(text.split()), maxsplit=1)[0].strip().rstrip(".")


def _string(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return str(node.value.value)
    return ""
