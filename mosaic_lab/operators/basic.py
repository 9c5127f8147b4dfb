"""Random, passive and human operators, and workers by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators.python_policy import python
from mosaic_lab.operators.spec import (
    CATEGORIES,
    DEADLINE,
    Algorithm,
    Category,
    Fallback,
    OperatorSpec,
    function_name,
)
from mosaic_lab.runs import RunGroup
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.validation import checked


@checked
def random(*, deadline: float | None = DEADLINE, fallback: Fallback = "wait") -> OperatorSpec:
    """Uniformly random legal actions, reproducible from the lane's seed, the agent and the operator's name.

    An operator that acts for all agents is named after its lane, unless ``.with_(name=...)`` names it.
    """
    return OperatorSpec("random", "random", "random", deadline=deadline, fallback=fallback)


@checked
def passive(*, deadline: float | None = DEADLINE, fallback: Fallback = "wait") -> OperatorSpec:
    """The most passive action available: a no-op, standing still, or the first legal action."""
    return OperatorSpec("passive", "passive", "passive", deadline=deadline, fallback=fallback)


@checked
def human(
    keys: Mapping[str, Any] | None = None,
    realtime: bool = False,
    default: Any = None,
    *,
    name: str = "human",
    deadline: float | None = None,
    fallback: Fallback = "wait",
) -> OperatorSpec:
    """A person at the keyboard, or at the page's buttons.

    Args:
        keys: {key: action} in addition to the environment's own keys or overriding them, by browser key
            names, such as ``{"ArrowLeft": 0, "d": 1, " ": 2}``.
        realtime: do not wait for the person; ``default`` is played while no key is held.
        default: the action for ``realtime``; None plays what a passive operator would.
        name: a display name.
        deadline: seconds to think; default: unlimited.
        fallback: what happens at the deadline; see `OperatorSpec`.
    """
    for key in keys or {}:
        if not isinstance(key, str) or not key:
            raise ConfigurationError(
                f'keys: {key!r} is not a key; give names such as "ArrowLeft", "a" or " "'
            )
    if not isinstance(realtime, bool):
        raise ConfigurationError(f"realtime={realtime!r}: must be True or False")
    settings = {"keys": dict(keys or {}), "realtime": realtime, "default": default}
    return OperatorSpec(
        "human", name, settings=settings, deadline=deadline, fallback=fallback, needs=("description",)
    )


def worker(
    worker_name: str,
    /,
    *,
    category: Category | None = None,
    deadline: float | None = DEADLINE,
    fallback: Fallback = "wait",
    pass_env_vars: Sequence[str] = (),
    **settings: Any,
) -> OperatorSpec:
    """An operator that a worker runs, such as your own worker. Further keywords are its settings.

    Args:
        worker_name: one of ``mosaic-lab workers list``.
        category: default: the worker's name if that is a category, else "rl".
        deadline: seconds for an action, None for no limit.
        fallback: what happens at the deadline; see `OperatorSpec`.
        pass_env_vars: names of environment variables to pass to the worker, such as API keys. Their values
            are not stored; a resumed evaluation reads them again.
    """
    if not isinstance(worker_name, str) or not worker_name:
        raise ConfigurationError(
            f"{worker_name!r} is not a worker's name: `mosaic-lab workers list` shows them"
        )
    by_worker = {str(kind): kind for kind in CATEGORIES if kind not in ("human", "python")}
    category = category or by_worker.get(worker_name, "rl")
    return OperatorSpec(
        category,
        worker_name,
        worker_name,
        settings=settings,
        deadline=deadline,
        fallback=fallback,
        pass_env_vars=pass_env_vars,
    )


def as_operator(value: Any) -> OperatorSpec:
    """Return an operator unchanged; wrap a function, or an object with ``select_action`` or ``predict``, with
    `python`. Raises ConfigurationError for anything else, listing the possibilities."""
    if isinstance(value, OperatorSpec):
        return value
    if isinstance(value, Algorithm):
        raise ConfigurationError(
            f"{value!r} has several policies, and only one can be used here: write operators.rl(group[0]) "
            "for one training's policy. Only lab.evaluate plays an algorithm, as an operator for all agents"
        )
    if callable(value) and (getattr(value, "__module__", None) or "").startswith("mosaic_lab.operators"):
        name = f"operators.{function_name(value)}"
        raise ConfigurationError(f"{name} is a function: call it, {name}(...)")
    if callable(value) or hasattr(value, "select_action") or hasattr(value, "predict"):
        return python(value)
    if isinstance(value, RunGroup):
        raise ConfigurationError(
            f"a group of {len(value)} runs is not an operator: write mosaic.operators.rl(group), or "
            "mosaic.operators.rl(group[0]) for the policy of one of its trainings"
        )
    if isinstance(value, RunRecord):
        raise ConfigurationError(f"run {value.id} is not an operator: write mosaic.operators.rl(run)")
    raise ConfigurationError(
        f"{value!r:.100} is not an operator. Operators are mosaic_lab.operators.random(), .passive(), "
        '.human(), .rl(run, checkpoint or path), .sb3("model.zip"), .llm(model), .python("policy.py:act"), '
        ".worker(name), an object with select_action(observation) or predict(observation), and a "
        "function of an observation"
    )
