"""What users type to get an operator. Nothing is started here; `rl` is in `mosaic_lab.operators.trained`.

Crosses the boundary: the makers, each returning an `OperatorSpec`, and `as_operator` for whatever a user
gave. All raise ConfigurationError for what cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keywords import checked
from mosaic_lab.operators import files as policy_files
from mosaic_lab.operators.calling import KernelOperator
from mosaic_lab.operators.spec import CATEGORIES, DEADLINE, Category, Fallback, OperatorSpec, function_name


@checked
def random(*, deadline: float | None = DEADLINE, fallback: Fallback = "wait") -> OperatorSpec:
    """Actions drawn uniformly from those that are legal, reproducible from the lane's seed, the agent and the
    operator's name: its lane's, where it acts for all agents and has no other (``.with_(name=...)``)."""
    return OperatorSpec("random", "random", "random", deadline=deadline, fallback=fallback)


@checked
def passive(*, deadline: float | None = DEADLINE, fallback: Fallback = "wait") -> OperatorSpec:
    """Does nothing, as far as the environment lets it: no-op or still, else the first legal action."""
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
    """Somebody at the keyboard (or at the buttons on the page).

    Args:
        keys: {key: action} beside or instead of the environment's own, by the names that a browser gives to
            keys, such as ``{"ArrowLeft": 0, "d": 1, " ": 2}``.
        realtime: the environment does not wait: where no key is held, ``default`` is played.
        default: the action for that; None means what a passive operator would do.
        name: what to call the person.
        deadline: seconds to think; by default as many as it takes.
        fallback: what is done at the deadline; see `OperatorSpec`.
    """
    for key in keys or {}:
        if not isinstance(key, str) or not key:
            raise ConfigurationError(f'keys: {key!r} is no key; give names such as "ArrowLeft", "a" or " "')
    if not isinstance(realtime, bool):
        raise ConfigurationError(f"realtime={realtime!r}: give True or False")
    settings = {"keys": dict(keys or {}), "realtime": realtime, "default": default}
    return OperatorSpec(
        "human", name, settings=settings, deadline=deadline, fallback=fallback, needs=("description",)
    )


@checked
def python(
    policy: Any,
    name: str | None = None,
    *,
    deadline: float | None = DEADLINE,
    fallback: Fallback = "wait",
    pass_env: Sequence[str] = (),
    folder: str | Path | None = None,
    files: Iterable[str | Path] = (),
    **keywords: Any,
) -> OperatorSpec:
    """A policy of your own: a function of the observation, or an object with ``select_action(observation)``
    or, as Stable-Baselines3's models, ``predict(observation)``.

    ``"policy.py:act"`` (or ``"package.module:act"``) is played in a process of its own by this kernel's
    Python, in comparisons and evaluations; a function or an object itself in this kernel, in comparisons
    only. It answers with an action, or with something that has an ``action``, an ``action_str`` and a
    ``reasoning``.

    It may take the action mask as a second parameter, and by name ``agent``, ``action_mask``, ``info`` and
    ``step_index``. ``predict`` is called with ``deterministic=True`` and, for recurrent models, ``state`` and
    ``episode_start``. An object may have ``episode_begin(seed, episode_index)``, or ``reset()`` with or
    without ``seed``, and ``episode_end(total_reward, steps)``.

    Args:
        policy: ``"FILE:NAME"``, ``"MODULE:NAME"``, a function or an object. NAME may also be a class, or a
            function that needs no argument: each agent gets an object that is made by it.
        name: what to call it; by default the function's name, or its object's class.
        deadline: seconds for an action, None for no limit.
        fallback: what is done at the deadline; see `OperatorSpec`.
        pass_env: names of this process's environment variables that its process is given.
        folder: where it runs; by default the working directory of now, or the file's own folder where the
            file does not lie below that.
        files: what else it reads or imports from its folder, weights for example. They count as a part of it:
            an evaluation does not resume when they have changed, and a bundle holds them.
        keywords: for a class or a factory, JSON values.

    Raises:
        ConfigurationError: there is no such file, or no such name in it; or it cannot be called so.
    """
    if isinstance(policy, str | Path):
        return OperatorSpec(
            "python",
            name or str(policy).rpartition(":")[2],
            policy_files.WORKER,
            settings=policy_files.policy_settings(policy, folder, files, keywords),
            deadline=deadline,
            fallback=fallback,
            pass_env=pass_env,
        )
    wrapped = KernelOperator(policy)
    of_files = {"folder": folder, "files": files, "pass_env": pass_env}
    if given := [*keywords, *(option for option, value in of_files.items() if value)]:
        raise ConfigurationError(
            f'{", ".join(given)}: for a policy in a file, such as operators.python("policy.py:make", …)'
        )
    return OperatorSpec(
        "python", name or function_name(policy), function=wrapped, deadline=deadline, fallback=fallback
    )


def importable(spec: OperatorSpec) -> OperatorSpec:
    """The operator as another process can play it: a function that a module defines, by the module's file.

    One that has a process already stays as it is. Raises ConfigurationError, with the lines to write, for
    what only this kernel has.
    """
    if spec.worker is not None:
        return spec
    if spec.function is None:
        raise ConfigurationError(
            f"{spec.name} answers in this kernel, and an evaluation goes on without it: people play in "
            "lab.compare(...)"
        )
    given = spec.function.given
    if reference := policy_files.reference_of(given):
        file = python(reference, spec.name)
        return spec.with_(worker=file.worker, settings=file.settings, function=None)
    raise ConfigurationError(
        f"{function_name(given)} is only in this kernel, and an evaluation is a process of its own that "
        f"outlives it. {policy_files.how_to_import(given)}"
    )


def worker(
    worker_name: str,
    /,
    *,
    category: Category | None = None,
    deadline: float | None = DEADLINE,
    fallback: Fallback = "wait",
    pass_env: Sequence[str] = (),
    **settings: Any,
) -> OperatorSpec:
    """Any worker that operates, one of your own say; further keywords are its settings.

    Args:
        worker_name: one of ``mosaic-lab workers list``.
        category: by default the worker's name where that is one, else "rl".
        deadline: seconds for an action, None for no limit.
        fallback: what is done at the deadline; see `OperatorSpec`.
        pass_env: names of this process's environment variables that the worker is given, API keys say. Their
            values are written nowhere; an evaluation that is resumed takes them anew.
    """
    if not isinstance(worker_name, str) or not worker_name:
        raise ConfigurationError(f"{worker_name!r} is no worker's name: `mosaic-lab workers list` shows them")
    known = {str(one): one for one in CATEGORIES if one not in ("human", "python")}
    category = category or known.get(worker_name, "rl")
    return OperatorSpec(
        category,
        worker_name,
        worker_name,
        settings=settings,
        deadline=deadline,
        fallback=fallback,
        pass_env=pass_env,
    )


def as_operator(given: Any) -> OperatorSpec:
    """An operator as it is; a function, or an object with ``select_action`` or ``predict``, as `python`.

    Raises ConfigurationError for anything else, with what is possible.
    """
    if isinstance(given, OperatorSpec):
        return given
    if callable(given) and (getattr(given, "__module__", None) or "").startswith("mosaic_lab.operators"):
        raise ConfigurationError(f"operators.{function_name(given)} is not called: write its parentheses")
    if callable(given) or hasattr(given, "select_action") or hasattr(given, "predict"):
        return python(given)
    raise ConfigurationError(
        f"{given!r} is no operator. Possible are mosaic_lab.operators.random(), .passive(), .human(), "
        '.rl(run, checkpoint or path), .llm(model), .python("policy.py:act"), .worker(name), and what has a '
        "select_action(observation) or a predict(observation), or is a function of an observation"
    )
