"""Trained policies as operators: which worker reads a checkpoint, and for which spaces it was trained.

They include models saved elsewhere by Stable-Baselines3 or sb3-contrib.

Only descriptions (JSON) are read; of the weights, only whether their file is complete. A checkpoint's
description is beside it: ``step-7.pt`` has ``step-7.json``, a folder has its own ``description.json``::

    {"format": "mosaic-<worker>/<version>", "algorithm": …, "env_id": …, "observation_space": {…},
     "action_space": {…}}         # or, for the policies of several agents, the two spaces of each:
    {"format": …, "algorithm": …, "agents": {"red_0": {"observation_space": {…}, "action_space": {…}}, …}}
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

from mosaic_contract import ConfigError, read_document
from mosaic_contract.checkpoints import check_file, description_of, env_settings_of, wrappers_of
from mosaic_contract.gymnasium_wrappers import check_user_code
from mosaic_contract.space_compatibility import misfit, text_of

from mosaic_lab.errors import ConfigurationError, warn_user
from mosaic_lab.operators.spec import DEADLINE, Algorithm, Fallback, OperatorSpec, Space, check_arguments
from mosaic_lab.runs import Checkpoint, Run, RunGroup
from mosaic_lab.runs.checkpoint_path import checkpoint_path
from mosaic_lab.runs.run_names import run_or_path
from mosaic_lab.validation import Problems, checked

_FORMAT = re.compile(r"mosaic-([A-Za-z0-9][A-Za-z0-9_.-]*)/\d+")
_WORKER = "sb3"
_MEMBERS = {"data", "policy.pth"}


@overload
def rl(
    source: Run | Checkpoint | Path | str,
    deterministic: bool = True,
    *,
    name: str | None = None,
    deadline: float | None = DEADLINE,
    fallback: Fallback = "wait",
    run_code: bool = False,
) -> OperatorSpec: ...
@overload
def rl(
    source: RunGroup,
    deterministic: bool = True,
    *,
    name: str | None = None,
    deadline: float | None = DEADLINE,
    fallback: Fallback = "wait",
    run_code: bool = False,
) -> Algorithm: ...
@checked
def rl(
    source: Run | Checkpoint | Path | str | RunGroup,
    deterministic: bool = True,
    *,
    name: str | None = None,
    deadline: float | None = DEADLINE,
    fallback: Fallback = "wait",
    run_code: bool = False,
) -> OperatorSpec | Algorithm:
    """A trained policy, or those of an algorithm's trainings.

    Args:
        source: a run or its name (its newest checkpoint), one of its ``checkpoints``, or the path of a
            checkpoint or a run folder. A group of runs over several seeds is the algorithm: an evaluation
            plays the newest checkpoint of each, and its intervals are over trainings.
        deterministic: always take the best action. False samples from the policy's distribution, reproducibly
            from the lane's seed, the agent and the operator's name.
        name: a display name; default: the algorithm.
        deadline: seconds for an action, None for no limit.
        fallback: what happens at the deadline; see `OperatorSpec`.
        run_code: whether the files of your own wrappers that the checkpoint names may be executed.

    Raises:
        ConfigurationError: there is no checkpoint, or it does not record which worker can read it; or a
            training of a group is missing, or its trainings differ in algorithm or environment.
    """
    if not isinstance(deterministic, bool):
        raise ConfigurationError(f"deterministic={deterministic!r}: must be True or False")

    def policy(source: Any) -> OperatorSpec:
        spec = _policy(source, deterministic, run_code)
        return spec.with_(name=name or spec.name, deadline=deadline, fallback=fallback)

    if not isinstance(source, RunGroup):
        return policy(source)
    _check_group(source)
    trainings = _by_name(source)
    algorithm = Algorithm({training: policy(run) for training, run in trainings.items()})
    kinds = {(spec.worker, spec.name, spec.trained_on): None for spec in algorithm.trainings.values()}
    if len(kinds) > 1:
        texts = "; ".join(f"{name} ({worker}) in {env}" for worker, name, env in kinds)
        raise ConfigurationError(
            f"the runs of this group are not trainings of one algorithm in one environment: {texts}. Pass a "
            "group for each, such as operators.rl(group[:3])"
        )
    steps = {training: run.checkpoints[-1].step for training, run in trainings.items()}
    if len(set(steps.values())) > 1:
        texts = ", ".join(f"{training} {step:,}" for training, step in steps.items())
        warn_user(f"the newest checkpoints of these trainings are from different steps: {texts}", UserWarning)
    return algorithm


def _check_group(group: RunGroup) -> None:
    """Raise ConfigurationError for a group without runs, or with seeds that were never started."""
    if not len(group):
        raise ConfigurationError("this group has no runs, so there is no policy")
    if group.trouble:
        raise ConfigurationError(
            f"{group.trouble}. Train the missing seeds, or write operators.rl(group[:]) for the "
            f"{len(group)} trainings there are"
        )


def _by_name(group: RunGroup) -> dict[str, Run]:
    """Return the trainings of a group by name: "s1" for seed 1, the run's id if several have its seed."""
    times = Counter(run.seed for run in group)
    return {run.id if run.seed is None or times[run.seed] > 1 else f"s{run.seed}": run for run in group}


def _policy(source: Any, deterministic: bool, run_code: bool) -> OperatorSpec:
    """Return the operator of a checkpoint; see `rl`."""
    path = checkpoint_path(run_or_path(source))
    described = _description(path)
    worker = _worker_of(path, described)
    agents = described.get("agents")
    try:
        check_user_code(described, run_code)
    except ConfigError as error:
        raise ConfigurationError(str(error)) from None
    code = {"run_code": True} if run_code else {}
    return OperatorSpec(
        "rl",
        str(described.get("algorithm") or path.stem),
        worker,
        settings={"checkpoint": str(path), "deterministic": deterministic, **code},
        observation_space=_space(path, described.get("observation_space")),
        action_space=_space(path, described.get("action_space")),
        agents=_agents(path, agents) if isinstance(agents, Mapping) else None,
        trained_on=_trained_on(path, described),
        env_settings=env_settings_of(described),
        wrappers=wrappers_of(described),
    )


def _description(path: Path) -> dict[str, Any]:
    """Return the description beside a checkpoint, empty without one. Raises ConfigurationError if it or the
    checkpoint is damaged."""
    file = description_of(path)
    if not file.is_file():
        return {}
    try:
        check_file(path)
        return read_document(file)
    except ConfigError as error:
        raise ConfigurationError(str(error)) from None
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{file}, which should describe {path.name}, cannot be read: {error}"
        ) from None


def _worker_of(path: Path, described: Mapping[str, Any]) -> str:
    """Return the worker that reads a checkpoint, from its description, else from the run it is in."""
    if match := _FORMAT.fullmatch(str(described.get("format", ""))):
        return match[1]
    if (run := _run_of(path)) is not None and run.worker != "unknown":
        return run.worker
    if is_model_zip(path):
        raise ConfigurationError(
            f"{path} was written by Stable-Baselines3's model.save(): load it with "
            f"operators.sb3({str(path)!r})"
        )
    raise ConfigurationError(
        f"{path} does not say which worker can read it: it is in no run's folder, and nothing beside it "
        f'describes it with a format such as "mosaic-cleanrl/1". Name the worker yourself: '
        f'operators.worker(NAME, checkpoint="{path}")'
    )


def _trained_on(path: Path, described: Mapping[str, Any]) -> str | None:
    """Return the environment's id, from the description, else from the run the checkpoint is in."""
    run = None if described.get("env_id") else _run_of(path)
    env_id = described.get("env_id") or (run.config.get("env_id") if run is not None else None)
    return str(env_id) if env_id else None


def _run_of(path: Path) -> Run | None:
    return next((Run(folder) for folder in path.parents if (folder / "launch.json").is_file()), None)


def _space(path: Path, value: Any) -> Space | None:
    """Return the description of a space, None for anything else. Raises ConfigurationError if it is
    invalid."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    try:
        text_of(value)
        misfit(value, value, "actions")
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise ConfigurationError(
            f"the description of {path} has an invalid space, {value!r:.200}: {error!r:.200}"
        ) from None
    return value


def _agents(path: Path, agents: Mapping[str, Any]) -> dict[str, tuple[Space, Space]]:
    by_agent = {}
    for agent, spaces in agents.items():
        spaces = spaces if isinstance(spaces, dict) else {}
        observation, action = (
            _space(path, spaces.get(f"{part}_space")) for part in ("observation", "action")
        )
        if observation is None or action is None:
            raise ConfigurationError(f"the description of {path} does not have the spaces of {agent!r}")
        by_agent[agent] = observation, action
    return by_agent


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
    """Return whether a file was written by `model.save()`, judging by the names of its members."""
    return not _not_a_model(file)


def _not_a_model(file: Path) -> str:
    """Return why a file was not written by `model.save()`; empty if it may have been."""
    if not file.is_file():
        siblings = ", ".join(sorted(zip_file.name for zip_file in file.parent.glob("*.zip"))[:10])
        return f"there is no file {file}{f'; {file.parent} has {siblings}' if siblings else ''}"
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
