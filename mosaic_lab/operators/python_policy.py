"""Policies of the user's own: functions and objects of this kernel, or code in files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import policy_files
from mosaic_lab.operators.spec import DEADLINE, Fallback, KernelOperator, OperatorSpec, function_name
from mosaic_lab.validation import checked


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
            an evaluation does not resume when they have changed, and a bundle contains them.
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
    """Return the operator as another process can play it: a function that a module defines, by the module's
    file.

    An operator with a process of its own is returned as it is. Raises ConfigurationError, with the lines to
    write, for what only this kernel has.
    """
    if spec.worker is not None:
        return spec
    if spec.function is None:
        raise ConfigurationError(
            f"{spec.name} answers in this kernel, and an evaluation runs without it: people play in "
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
