"""The user's own policies: functions and objects of this kernel, or code in files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import policy_files
from mosaic_lab.operators.spec import DEADLINE, Fallback, OperatorSpec, PythonPolicy, function_name
from mosaic_lab.validation import checked


@checked
def python(
    policy: Any,
    name: str | None = None,
    *,
    deadline: float | None = DEADLINE,
    fallback: Fallback = "wait",
    pass_env_vars: Sequence[str] = (),
    folder: str | Path | None = None,
    files: Iterable[str | Path] = (),
    **keywords: Any,
) -> OperatorSpec:
    """Your own policy: a function of the observation, or an object with ``select_action`` or ``predict``.

    ``"policy.py:act"`` (or ``"package.module:act"``) runs in its own process with this kernel's Python, in
    comparisons and evaluations; a function or an object runs in this kernel, in comparisons only. It returns
    an action, or an object with ``action``, ``action_str`` and ``reasoning``.

    It may accept the action mask as a second parameter, and ``agent``, ``action_mask``, ``info`` and
    ``step_index`` by name. ``predict`` (as of Stable-Baselines3's models) is called with
    ``deterministic=True`` and, for recurrent models, ``state`` and ``episode_start``. An object may have
    ``episode_begin(seed, episode_index)``, or ``reset()`` with or without ``seed``, and
    ``episode_end(total_reward, steps)``.

    Args:
        policy: ``"FILE:NAME"``, ``"MODULE:NAME"``, a function or an object. NAME may also be a class, or a
            function without required arguments; each agent then gets an object of its own.
        name: a display name; default: the function's name, or the object's class.
        deadline: seconds for an action, None for no limit.
        fallback: what happens at the deadline; see `OperatorSpec`.
        pass_env_vars: names of environment variables to pass to its process.
        folder: its working directory; default: the current one, or the file's folder if the file is
            elsewhere.
        files: other files that it reads or imports from its folder, such as weights. An evaluation does not
            resume if they have changed, and a bundle contains them.
        keywords: JSON-compatible arguments for a class or a factory.

    Raises:
        ConfigurationError: the file or the name does not exist, or cannot be called this way.
    """
    if isinstance(policy, str | Path):
        return OperatorSpec(
            "python",
            name or str(policy).rpartition(":")[2],
            policy_files.WORKER,
            settings=policy_files.policy_settings(policy, folder, files, keywords),
            deadline=deadline,
            fallback=fallback,
            pass_env_vars=pass_env_vars,
        )
    wrapped = PythonPolicy(policy)
    of_files = {"folder": folder, "files": files, "pass_env_vars": pass_env_vars}
    if extra := [*keywords, *(option for option, value in of_files.items() if value)]:
        raise ConfigurationError(
            f'{", ".join(extra)}: only for a policy in a file, such as operators.python("policy.py:make", …)'
        )
    return OperatorSpec(
        "python", name or function_name(policy), function=wrapped, deadline=deadline, fallback=fallback
    )


def importable(spec: OperatorSpec) -> OperatorSpec:
    """Return the operator in a form that another process can run: a module's function by its file.

    An operator with its own process is returned unchanged. Raises ConfigurationError, with the lines to
    write, for objects that exist only in this kernel.
    """
    if spec.worker is not None:
        return spec
    if spec.function is None:
        raise ConfigurationError(
            f"{spec.name} answers in this kernel, and an evaluation runs without it: people play in "
            "lab.compare(...)"
        )
    policy = spec.function.policy
    if reference := policy_files.reference_of(policy):
        file = python(reference, spec.name)
        return spec.with_(worker=file.worker, settings=file.settings, function=None)
    raise ConfigurationError(
        f"{function_name(policy)} exists only in this kernel, and an evaluation is a separate process that "
        f"outlives it. {policy_files.how_to_import(policy)}"
    )
