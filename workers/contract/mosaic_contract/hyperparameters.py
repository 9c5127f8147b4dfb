"""Declarations of hyperparameters by shims, and validation of given values."""

from __future__ import annotations

import difflib
import operator
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Collection, Iterable, Iterator, Mapping, Sequence

from mosaic_contract.codec import with_tuples
from mosaic_contract.config import OWN_FIELDS, lab_keyword, nearest
from mosaic_contract.errors import ConfigError

_LAB_OPTIONS = {  # other keywords of `lab.train`, with the options of `mosaic-lab train`
    "algorithm": "--algorithm", "seed": "--seed", "total_timesteps": "--total-timesteps",
    "frames": "--no-frames, --frames-grid", "env": "--env", "gpus": "--gpus", "threads": "--threads",
    "checkpoint_every": "--checkpoint-every", "resume_from": "--resume-from", "stop_at": "--stop-at",
    "env_vars": "--pass-env-vars", "pass_env_vars": "--pass-env-vars", "wrappers": "--wrappers",
    "grace_seconds": "--grace-seconds",
}  # fmt: skip
_FORMER_OPTIONS = {"environ": "env_vars"}
_ENVIRONMENT_NAMES = {"settings", "env_config", "env_kwargs", "env_settings", "env_args", "make_kwargs"}
_SYNONYMS = (  # each set: the names of one thing in different libraries and versions
    _ENVIRONMENT_NAMES,
    {"learning_rate", "lr", "actor_lr", "critic_lr", "policy_lr", "q_lr", "learning_rate_actor",
     "learning_rate_critic"},
    {"gamma", "discount_factor"},
    {"gae_lambda", "lambda_", "bootstrapping_factor"},
    {"num_envs", "n_envs", "num_training_envs", "parallels", "num_envs_per_env_runner", "total_batch_size"},
    {"num_steps", "n_steps", "horizon_size", "collection_step_num_env_steps", "rollout_fragment_length"},
    {"update_epochs", "n_epochs", "num_epochs", "num_sgd_iter", "update_step_num_repetitions"},
    {"num_minibatches", "n_minibatch", "minibatch_size", "sgd_minibatch_size", "batch_size"},
    {"train_batch_size", "train_batch_size_per_learner"},
    {"num_workers", "num_rollout_workers", "num_env_runners"},
    {"clip_coef", "clip_range", "clip_param", "eps_clip"},
    {"ent_coef", "entropy_coeff", "l_en"},
    {"vf_coef", "vf_loss_coeff", "l_td"},
    {"max_grad_norm", "grad_clip", "grad_clip_norm"},
    {"learning_starts", "start_training", "start_timesteps", "num_steps_sampled_before_learning_starts"},
    {"hidden_sizes", "fcnet_hiddens", "actor_hidden_size", "net_arch", "policy_layers"},
)  # fmt: skip
_LIMITS = (
    ("minimum", operator.ge, "less than"),
    ("exclusive_minimum", operator.gt, "not above"),
    ("maximum", operator.le, "more than"),
)


@dataclass(frozen=True)
class Parameter:
    """A hyperparameter. `type` is int, float, bool, str, list or dict; a default of None makes None valid.
    Limits of numbers have the meaning of JSON Schema."""

    name: str
    type: type
    default: Any = None
    help: str = ""
    choices: Sequence[Any] = ()
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "type": self.type.__name__, "choices": list(self.choices)}


ENV_KWARGS = Parameter("env_kwargs", dict, {}, "Keyword arguments of the environment")
"""The hyperparameter of workers that pass keyword arguments to the environment."""


def env_kwargs_of(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the environment's keyword arguments, with tuples restored. Raises `ConfigError`."""
    try:
        env_kwargs = converted(ENV_KWARGS, hyperparameters.get(ENV_KWARGS.name, {}))
    except ValueError as error:
        raise ConfigError(f"hyperparameter {ENV_KWARGS.name!r}: {error}") from None
    return dict(with_tuples(env_kwargs))


def check_hyperparameters(
    values: Mapping[str, Any], parameters: Mapping[str, Parameter], problems: Iterable[str] = ()
) -> dict[str, Any]:
    """Return all hyperparameters of a run: the given values, checked and converted, and defaults for the
    rest.

    `problems` are problems already found by the shim. Raises one `ConfigError` with all problems: unknown
    names, with the equivalent or nearest known name, wrong types, invalid choices and values outside the
    limits.
    """
    errors = list(problems)
    resolved = {name: parameter.default for name, parameter in parameters.items()}
    for name, value in values.items():
        if name not in parameters:
            errors.append(_unknown(name, parameters))
            continue
        try:
            resolved[name] = converted(parameters[name], value)
        except ValueError as error:
            errors.append(f"hyperparameter {name!r}: {error}")
    if errors:
        raise ConfigError(errors)
    return resolved


def merged(kinds: Mapping[str, Mapping[str, Parameter]]) -> Iterator[Parameter]:
    """Yield the parameters of several kinds of environments, each once. If defaults differ, or a kind lacks a
    parameter, it has no default and its help lists the default of each kind."""
    for name in dict.fromkeys(name for parameters in kinds.values() for name in parameters):
        by_kind = {kind: parameters[name] for kind, parameters in kinds.items() if name in parameters}
        last = list(by_kind.values())[-1]
        if len(by_kind) == len(kinds) and all(
            parameter.default == last.default for parameter in by_kind.values()
        ):
            yield last
        else:
            defaults = ", ".join(f"{kind} {parameter.default}" for kind, parameter in by_kind.items())
            meaning = f"{last.help}; " if last.help else ""
            yield replace(last, default=None, help=f"{meaning}by default: {defaults}")


def with_limits(
    parameters: Mapping[str, Parameter],
    *,
    minima: Mapping[str, float | None] = MappingProxyType({}),
    above_zero: Collection[str] = (),
    to_one: Collection[str] = (),
) -> dict[str, Parameter]:
    """Return the parameters by name, with limits on numbers.

    Integers are at least 1 and other numbers at least 0, unless `minima` sets another minimum (None: no
    minimum). Parameters in `above_zero` must be greater than 0, those in `to_one` at most 1.
    """

    def limited(parameter: Parameter) -> Parameter:
        above = 0 if parameter.name in above_zero else None
        minimum = minima.get(parameter.name, 1 if parameter.type is int else 0) if above is None else None
        maximum = 1 if parameter.name in to_one else None
        return replace(parameter, minimum=minimum, maximum=maximum, exclusive_minimum=above)

    return {
        name: limited(parameter) if parameter.type in (int, float) else parameter
        for name, parameter in parameters.items()
    }


def outside_limits(value: float, limits: Mapping[str, Any]) -> str:
    """Return why a number is outside the limits of a parameter, given in the form of its `to_dict`; empty if
    it is within them."""
    for name, is_within, reason in _LIMITS:
        limit = limits.get(name)
        if limit is not None and not is_within(value, limit):
            return f"{value} is {reason} {limit}"
    return ""


def width_problems(values: Mapping[str, Any], may_be_empty: Collection[str] = ()) -> Iterator[str]:
    """Yield, one sentence each, the lists among the hyperparameters that are not valid layer widths. A list
    must have at least one width unless named in `may_be_empty`. Other values are ignored."""
    for name, value in values.items():
        if isinstance(value, list):
            widths = all(type(width) is int and width > 0 for width in value)
            if not widths or not (value or name in may_be_empty):
                yield f"hyperparameter {name!r} must be a list of widths, such as [64, 64], got {value}"


def _unknown(name: str, parameters: Collection[str]) -> str:
    if name in OWN_FIELDS:
        return f"{name!r} is a field of the configuration{lab_keyword(name)}, not a hyperparameter"
    if synonyms := sorted(
        other for names in _SYNONYMS if name in names for other in names if other in parameters
    ):
        return f"unknown hyperparameter {name!r}; here it is called {' or '.join(map(repr, synonyms))}"
    if name in _ENVIRONMENT_NAMES:
        return (
            f"{name!r} is not a hyperparameter, and this worker takes no keywords of the environment: "
            "register an id with them in a module, gymnasium.register(..., kwargs=...), and give "
            'env="module:Id-v0"'
        )
    hint = nearest(name, parameters)
    option = _FORMER_OPTIONS.get(name, name.lower())
    close = difflib.get_close_matches(option, _LAB_OPTIONS, n=1, cutoff=0.75)
    if close and "did you mean" not in hint:
        hint = f"; did you mean lab.train's {close[0]}= ({_LAB_OPTIONS[close[0]]})?"
    return f"unknown hyperparameter {name!r}{hint}"


def converted(parameter: Parameter, value: Any) -> Any:
    """Return a value converted to a parameter's type. Raises ValueError with the reason if it is not
    valid."""
    expected_type = parameter.type
    if value is None and parameter.default is None:
        return None
    if expected_type is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    elif expected_type is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # 1e6 is a float in JSON
    if not isinstance(value, expected_type) or (expected_type is int and isinstance(value, bool)):
        raise ValueError(f"expected {expected_type.__name__}, got {type(value).__name__} {value!r:.100}")
    if parameter.choices and value not in parameter.choices:
        raise ValueError(f"{value!r:.100} is not one of {', '.join(map(repr, parameter.choices))}")
    if isinstance(value, (int, float)) and (reason := outside_limits(value, vars(parameter))):
        raise ValueError(reason)
    return value
