"""The hyperparameters of each algorithm, from upstream's source text: names, types, defaults, descriptions.

Importing upstream takes seconds, too long for a listing of workers: its files are parsed without executing
them. A default is the value assigned last in the `__init__` of an algorithm's configuration.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import Any, Iterator, Mapping

from mosaic_contract import Parameter, upstream_folder, with_limits
from mosaic_contract.hyperparameters import ENV_KWARGS
from mosaic_contract.upstream import class_in, fields_of, first_sentence, method_of

from .algorithms import ALGORITHMS, MODEL, SETTINGS, RllibAlgorithm

ALIASES = {
    "num_workers": "num_env_runners",
    "num_envs_per_worker": "num_envs_per_env_runner",
    "env_config": ENV_KWARGS.name,
}
"""Other names for parameters: upstream's older ones, used by the MOSAIC platform, and upstream's name for the
keyword arguments."""

POLICIES, ADDRESS = "policies", "address"
SHARED, EACH = "shared", "each"

_OWN_PARAMETERS = (
    Parameter(
        POLICIES,
        str,
        SHARED,
        'of several agents: "shared" by all, "each" its own, or a mapping from agents to names of policies, '
        'such as {"adversary_0": "adversary", "*": "good"}',
    ),
    Parameter(ADDRESS, str, None, "host:port of a Ray cluster that runs already; by default Ray is local"),
    ENV_KWARGS,
    Parameter("framework", str, "torch", "upstream's deep learning framework", ("torch",)),
)
# for parameters with default None, or a whole default although any number is valid
_TYPES: Mapping[str, type] = {
    "conv_filters": list,
    "grad_clip": float,
    "minibatch_size": int,
    "training_intensity": float,
    "min_time_s_per_iteration": float,
    "delay_between_env_runner_restarts_s": float,
    "num_gpus_per_learner": float,
    "num_cpus_per_env_runner": float,
}
_AUTO = {"rollout_fragment_length", "target_entropy"}  # a number, or "auto"
_MINIMA = {  # minimum values other than 1 for integers and 0 for other numbers
    "num_env_runners": 0, "num_learners": 0, "num_aggregator_actors_per_learner": 0,
    "target_network_update_freq": 0, "min_sample_timesteps_per_iteration": 0,
    "num_steps_sampled_before_learning_starts": 0, "max_num_env_runner_restarts": 0, "v_min": None,
    "v_max": None,
}  # fmt: skip
_AT_MOST_ONE = {"gamma", "lambda_", "tau"}
_ABOVE_ZERO = {"lr", "actor_lr", "critic_lr", "alpha_lr", "grad_clip", "clip_param", "sample_timeout_s"}
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "batch_mode": ("truncate_episodes", "complete_episodes"),
    "grad_clip_by": ("value", "norm", "global_norm"),
    "td_error_loss_fn": ("huber", "mse"),
    "conv_activation": ("tanh", "relu", "swish", "silu", "linear"),
    "fcnet_activation": ("tanh", "relu", "swish", "silu", "linear"),
    "head_fcnet_activation": ("tanh", "relu", "swish", "silu", "linear"),
}


def all_hyperparameters() -> Mapping[str, list[Parameter]]:
    """Return the parameters of every algorithm."""
    return {name: list(parameters_of(name).values()) for name in ALGORITHMS}


@functools.cache
def parameters_of(name: str) -> dict[str, Parameter]:
    """Return the parameters of one algorithm by name."""
    algorithm = ALGORITHMS[name]
    parameters = {**dict(_settings(algorithm)), **dict(_model_parameters(algorithm))}
    parameters.update((parameter.name, parameter) for parameter in _OWN_PARAMETERS)
    return with_limits(parameters, minima=_MINIMA, above_zero=_ABOVE_ZERO, to_one=_AT_MOST_ONE)


def _settings(algorithm: RllibAlgorithm) -> Iterator[tuple[str, Parameter]]:
    defaults: dict[str, Any] = {}
    meanings: dict[str, str] = {}
    for file, class_name in algorithm.configs:
        node = class_in(_path(f"algorithms/{file}.py"), class_name)
        defaults.update(_assigned(node))
        for method in (*SETTINGS, "training"):
            meanings.update(_meanings(node, method))
    batch = defaults["_train_batch_size_per_learner"] or defaults["train_batch_size"]
    defaults.setdefault("train_batch_size_per_learner", batch)
    for name in (*algorithm.training, *(name for names in SETTINGS.values() for name in names)):
        yield name, _parameter(name, defaults[name], meanings.get(name, ""))


def _model_parameters(algorithm: RllibAlgorithm) -> Iterator[tuple[str, Parameter]]:
    path = _path("core/rl_module/default_model_config.py")
    meanings = _comments(path.read_text(encoding="utf-8"))
    for name, field, _ in fields_of(class_in(path, "DefaultModelConfig")):
        if name not in MODEL:
            continue
        value = field.value
        if isinstance(value, ast.Call):  # field(default_factory=lambda: [256, 256])
            factory = value.keywords[0].value
            value = factory.body if isinstance(factory, ast.Lambda) else value
        default = algorithm.model.get(name, ast.literal_eval(value)) if value else None
        recurrent, convolutional = "lstm" in name or name == "max_seq_len", name.startswith("conv_")
        if (algorithm.recurrent or not recurrent) and (algorithm.sees_pictures or not convolutional):
            yield name, _parameter(name, default, meanings.get(name, ""))


def _parameter(name: str, value: Any, meaning: str) -> Parameter:
    value_type = _TYPES.get(name, type(value))
    if value_type is float and value is not None:
        value = float(value)
    if isinstance(value, list):
        value = [list(item) if isinstance(item, tuple) else item for item in value]  # as in JSON
    return Parameter(name, value_type, value, meaning, _CHOICES.get(name, ()))


def numbers_as_words(values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the hyperparameters with numbers as strings if the default is the word "auto": a parameter has
    one type."""
    return {
        key: str(value)
        if key in _AUTO and key in parameters and parameters[key].type is str and type(value) in (int, float)
        else value
        for key, value in values.items()
    }


def number_of(word: str) -> Any:
    """Return the number spelled by a string, an int if it is whole; any other string itself."""
    value = float(word) if re.fullmatch(r"-?\d+(\.\d+)?", word) else word
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _assigned(node: ast.ClassDef) -> Iterator[tuple[str, Any]]:
    """Yield the numbers, strings and lists that the `__init__` of a class assigns to `self`."""
    init = method_of(node, "__init__")
    target: ast.expr
    for statement in ast.walk(init) if init else ():
        if isinstance(statement, ast.AnnAssign) and statement.value:
            target, value = statement.target, statement.value
        elif isinstance(statement, ast.Assign):
            target, value = statement.targets[0], statement.value
        else:
            continue
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            try:
                yield target.attr, _literal(value)
            except ValueError:
                continue


def _literal(node: ast.expr) -> Any:
    """Return the value of a literal, including `int(1e6)`. Raises ValueError for any other expression."""

    class IntCalls(ast.NodeTransformer):
        def visit_Call(self, call: ast.Call) -> ast.expr:
            if ast.unparse(call.func) == "int" and len(call.args) == 1:
                return ast.Constant(int(ast.literal_eval(call.args[0])))
            raise ValueError(ast.unparse(call))

    return ast.literal_eval(IntCalls().visit(node))


def _path(file: str) -> Path:
    return upstream_folder("ray", "RLlib") / "rllib" / file


def _meanings(node: ast.ClassDef, method: str) -> dict[str, str]:
    """Return the first sentence about each argument in the docstring of a method."""
    definition = method_of(node, method)
    arguments = (ast.get_docstring(definition) or "") if definition else ""
    parts = re.split(r"^ {4}(\w+): ", arguments.partition("Args:")[2], flags=re.MULTILINE)
    return {name: _sentence(text) for name, text in zip(parts[1::2], parts[2::2])}


def _comments(text: str) -> dict[str, str]:
    """Return the `#:` comment above each field."""
    comments = re.findall(r"((?:^ +#: .*\n)+) +(\w+):", text, re.MULTILINE)
    return {name: _sentence(comment.replace("#:", "")) for comment, name in comments}


def _sentence(text: str) -> str:
    return first_sentence(text.replace("\tau", "tau"))  # upstream's backslash becomes a tab
