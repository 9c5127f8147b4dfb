"""The hyperparameters of a script, read from its source text. Upstream is neither imported nor executed. Two
spellings exist: the fields of `class Args` (current upstream) and `parser.add_argument` (the release)."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, Iterator

from mosaic_contract import Parameter, with_limits
from mosaic_contract.hyperparameters import ENV_KWARGS
from mosaic_contract.upstream import fields_of, parsed

SET_BY_THE_RUN = {"env_id", "gym_id", "seed", "total_timesteps"}
"""Script arguments that a configuration sets outside its hyperparameters."""

SWITCHED_OFF = {
    "track", "prod_mode", "wandb_project_name", "wandb_entity", "upload_model", "hf_entity",
}  # fmt: skip
"""Script arguments that would upload a run to a service on the network."""

# Minimum values other than 1 for integers and 0 for other numbers.
_MINIMA = {"learning_starts": 0, "episode_length": 0, "n_atoms": 2, "v_min": None, "v_max": None}
_AT_MOST_ONE = {"gamma", "gae_lambda", "tau", "start_e", "end_e"}
_ABOVE_ZERO = {"learning_rate", "policy_lr", "q_lr", "exploration_fraction"}
_TYPES = {"int": int, "float": float, "bool": bool, "str": str}


def parameters_of(script: Path) -> dict[str, Parameter]:
    """Return the hyperparameters of a script, by upstream's own names, in upstream's order.

    Omitted are parameters set elsewhere by a run, computed by the script itself, or meant for a network
    service. `capture_video` is off by default, also in the one script of the release that has it on.
    """
    tree = parsed(script)
    options = {p.name: p for p in (*_dataclass_fields(tree, script), *_argparse_options(tree, script))}
    hidden = SET_BY_THE_RUN | SWITCHED_OFF | _computed(tree)
    parameters = {name: parameter for name, parameter in options.items() if name not in hidden}
    video = parameters.get("capture_video")
    if video is not None:
        parameters["capture_video"] = Parameter(video.name, bool, False, video.help)
    parameters[ENV_KWARGS.name] = ENV_KWARGS
    return with_limits(parameters, minima=_MINIMA, above_zero=_ABOVE_ZERO, to_one=_AT_MOST_ONE)


def _dataclass_fields(tree: ast.Module, script: Path) -> Iterator[Parameter]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "Args":
            for name, field, text in fields_of(node):
                value_type = _TYPES[ast.unparse(field.annotation)]
                yield Parameter(name, value_type, _value(field.value, value_type, script), text)


def _argparse_options(tree: ast.Module, script: Path) -> Iterator[Parameter]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr != "add_argument" or not isinstance(node.args[0], ast.Constant):
            continue
        options = {keyword.arg: keyword.value for keyword in node.keywords}
        annotation = ast.unparse(options["type"]) if "type" in options else "str"
        value_type = bool if "strtobool" in annotation else _TYPES[annotation]
        choices = ast.literal_eval(options["choices"]) if "choices" in options else ()
        name = str(node.args[0].value).lstrip("-").replace("-", "_")
        text = ast.literal_eval(options["help"]) if "help" in options else ""
        default = _value(options.get("default"), value_type, script)
        yield Parameter(name, value_type, default, text, tuple(choices))


def _computed(tree: ast.Module) -> set[str]:
    """Return the fields that the script assigns unconditionally, regardless of the command line."""
    blocks = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.If))]
    targets = [t for block in blocks for node in block if isinstance(node, ast.Assign) for t in node.targets]
    return {
        target.attr
        for target in targets
        if isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "args"
    }


def _value(node: ast.expr | None, value_type: type, script: Path) -> Any:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "int":
        node = node.args[0]  # int(1e6)
    try:
        value = None if node is None else ast.literal_eval(node)
    except ValueError:
        return script.stem  # exp_name: an expression over the script's own file name
    return value if value is None else value_type(value)
