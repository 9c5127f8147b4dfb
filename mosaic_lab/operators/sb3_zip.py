"""Policies saved elsewhere by Stable-Baselines3 or sb3-contrib."""

from __future__ import annotations

import zipfile
from pathlib import Path

from mosaic_lab.operators.spec import DEADLINE, Fallback, OperatorSpec, check_arguments
from mosaic_lab.validation import Problems, checked

_WORKER = "sb3"
_MEMBERS = {"data", "policy.pth"}


@checked
def sb3(
    path: str | Path,
    algorithm: str | None = None,
    deterministic: bool = True,
    *,
    trust: bool = False,
    name: str | None = None,
    deadline: float | None = DEADLINE,
    fallback: Fallback = "wait",
) -> OperatorSpec:
    """A policy from a zip file written by `model.save()` of Stable-Baselines3 or sb3-contrib.

    Nothing in the file is executed: weights and plain values are read, and the policy is built for the
    environment's spaces. The statistics of a VecNormalize, ``vecnormalize.pkl`` in the zip or beside it,
    normalize its observations; only the numbers of that pickle are read.

    Args:
        path: the zip file.
        algorithm: "ppo", "recurrent_ppo", … as listed by ``mosaic-lab workers list sb3``; default: as found
            in the file.
        deterministic: always take the best action. False samples as upstream's ``predict`` does, reproducibly
            from the lane's seed, the agent and the operator's name.
        trust: load the file by upstream's own ``load``, which unpickles and can therefore run any code.
            Needed for custom policy classes; only for files from a trusted source.
        name: a display name; default: the file's name.
        deadline: seconds for an action, None for no limit.
        fallback: what happens at the deadline; see `OperatorSpec`.

    Raises:
        ConfigurationError: all invalid arguments at once, including a missing file.
    """
    problems = Problems()
    switches = check_arguments(problems, deterministic=(deterministic, bool), trust=(trust, bool))
    file = Path(path).expanduser().resolve()
    if problem := _not_a_model(file):
        problems.add("", problem)
    if algorithm is not None and not isinstance(algorithm, str):
        problems.add("", f'algorithm={algorithm!r:.100}: must be a name, such as "ppo"')
    problems.check()
    return OperatorSpec(
        "rl",
        name or file.stem,
        _WORKER,
        settings={"checkpoint": str(file), "algorithm": algorithm, **switches},
        deadline=deadline,
        fallback=fallback,
    )


def is_model_zip(file: Path) -> bool:
    """Return whether a file is one of `model.save()`, by the names of its members."""
    return not _not_a_model(file)


def _not_a_model(file: Path) -> str:
    """Return why a file is not one of `model.save()`, "" where it may be one."""
    if not file.is_file():
        others = ", ".join(sorted(zip_file.name for zip_file in file.parent.glob("*.zip"))[:10])
        return f"there is no file {file}{f'; {file.parent} has {others}' if others else ''}"
    try:
        with zipfile.ZipFile(file) as archive:
            missing = sorted(_MEMBERS - set(archive.namelist()))
    except (OSError, zipfile.BadZipFile) as error:
        return f"{file} is not a zip file written by model.save(): {error}"
    return (
        f"{file} is not a zip file written by model.save(): it has no {' and no '.join(missing)}"
        if missing
        else ""
    )
