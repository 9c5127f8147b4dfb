"""Environments: made once to check a configuration. Nothing here imports torch."""

from __future__ import annotations

import math
import os
import warnings
from typing import Any, Sequence

from mosaic_contract import ConfigError, describe_space, make_space
from mosaic_contract.environment_spec import CONTINUOUS, DISCRETE
from mosaic_contract.errors import one_line
from mosaic_contract.registry import register
from mosaic_contract.wrappers import advice, observation_transform

from .algorithms import ALGORITHMS, Algorithm

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")


def probe(env_id: str) -> tuple[Any, Any]:
    """Return the observation and action space of an environment. Raises `ConfigError` where it cannot be
    made.
    """
    import gymnasium

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            register(env_id)
            env = gymnasium.make(env_id)
        except Exception as error:  # whatever an environment's own code raises
            raise ConfigError(f"environment {env_id!r} cannot be made here: {one_line(error)}") from None
    env.close()
    return env.observation_space, env.action_space


def wrapped(env_id: str, observations: Any, wrappers: Sequence[str]) -> Any:
    """Return the space of wrapped observations. Raises `ConfigError` where they do not fit."""
    return (
        make_space(observation_transform(describe_space(observations), wrappers, env_id).space)
        if wrappers
        else observations
    )


def describe_spaces(observations: Any, actions: Any) -> dict[str, Any]:
    """Return the spaces as a checkpoint's description has them."""
    return {"observation_space": describe_space(observations), "action_space": describe_space(actions)}


def misfits(algorithm: Algorithm, env_id: str, observations: Any, actions: Any) -> list[str]:
    """Return why the algorithm cannot be used on these spaces, one sentence a reason."""
    problems = []
    if type(observations).__name__ != "Box" or len(observations.shape) != 1:
        problems.append(
            f"{algorithm.name} needs vectors (a Box of one dimension) as observations; "
            f"{env_id} has {observations}{advice(observations)}"
        )
    kind = {"Discrete": DISCRETE, "Box": CONTINUOUS}.get(type(actions).__name__)
    if kind not in algorithm.actions:
        fitting = [name for name, other in ALGORITHMS.items() if kind in other.actions]
        others = f" (for those: {', '.join(fitting)})" if fitting else ""
        needed = " or ".join(
            {DISCRETE: "Discrete", CONTINUOUS: "continuous (Box)"}[k] for k in algorithm.actions
        )
        problems.append(f"{algorithm.name} needs {needed} actions; {env_id} has {actions}{others}")
    elif kind == DISCRETE and actions.start != 0:
        problems.append(f"{algorithm.name} numbers its actions from 0; {env_id} has {actions}")
    elif kind == CONTINUOUS and len(actions.shape) != 1:
        problems.append(f"{algorithm.name} needs actions of one dimension; {env_id} has {actions}")
    elif kind == CONTINUOUS and not all(map(math.isfinite, (*actions.low, *actions.high))):
        problems.append(f"{algorithm.name} scales its actions to finite bounds; {env_id} has {actions}")
    return problems
