"""Trained policies as operators: which worker reads a checkpoint, and for which spaces it was trained.

Only descriptions are read (JSON); of weights, only whether their file is whole. A checkpoint's description
is beside it: ``step-7.pt`` has ``step-7.json``, a folder has its own ``description.json``::

    {"format": "mosaic-<worker>/<version>", "algorithm": …, "env_id": …, "observation_space": {…},
     "action_space": {…}}         # or, of several agents' policies, the two spaces of each:
    {"format": …, "algorithm": …, "agents": {"red_0": {"observation_space": {…}, "action_space": {…}}, …}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic_contract import ConfigError, read_document
from mosaic_contract.checkpoints import check_file, description_of, env_settings_of, wrappers_of
from mosaic_contract.gymnasium_wrappers import check_own_code
from mosaic_contract.space_compatibility import misfit, text_of

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators.sb3_zip import is_model_zip
from mosaic_lab.operators.spec import DEADLINE, Fallback, OperatorSpec, Space
from mosaic_lab.runs import Checkpoint, Run
from mosaic_lab.runs.checkpoint_path import checkpoint_path
from mosaic_lab.runs.run_names import run_or_path
from mosaic_lab.validation import checked

_FORMAT = re.compile(r"mosaic-([A-Za-z0-9][A-Za-z0-9_.-]*)/\d+")


@checked
def rl(
    source: Run | Checkpoint | Path | str,
    deterministic: bool = True,
    *,
    name: str | None = None,
    deadline: float | None = DEADLINE,
    fallback: Fallback = "wait",
    run_code: bool = False,
) -> OperatorSpec:
    """A trained policy.

    Args:
        source: a run or its name (its newest checkpoint), one of its ``checkpoints``, or the path of a
            checkpoint or a run folder.
        deterministic: always take the best action. False samples from the policy's distribution, reproducibly
            from the lane's seed, the agent and the operator's name.
        name: a display name; default: the algorithm.
        deadline: seconds for an action, None for no limit.
        fallback: what happens at the deadline; see `OperatorSpec`.
        run_code: whether the files of your own wrappers that the checkpoint names may be executed.

    Raises:
        ConfigurationError: there is no checkpoint, or it does not record which worker can read it.
    """
    if not isinstance(deterministic, bool):
        raise ConfigurationError(f"deterministic={deterministic!r}: must be True or False")
    path = checkpoint_path(run_or_path(source))
    described = _description(path)
    worker = _worker_of(path, described)
    agents = described.get("agents")
    try:
        check_own_code(described, run_code)
    except ConfigError as error:
        raise ConfigurationError(str(error)) from None
    code = {"run_code": True} if run_code else {}
    return OperatorSpec(
        "rl",
        name or str(described.get("algorithm") or path.stem),
        worker,
        settings={"checkpoint": str(path), "deterministic": deterministic, **code},
        deadline=deadline,
        fallback=fallback,
        observation_space=_space(path, described.get("observation_space")),
        action_space=_space(path, described.get("action_space")),
        agents=_agents(path, agents) if isinstance(agents, Mapping) else None,
        trained_on=_trained_on(path, described),
        env_settings=env_settings_of(described),
        wrappers=wrappers_of(described),
    )


def _description(path: Path) -> dict[str, Any]:
    """Return the description beside a checkpoint, empty without one. Raises ConfigurationError where it or
    the checkpoint is damaged."""
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
    """Return the worker that reads a checkpoint: by its description, else that of the run it is in."""
    if match := _FORMAT.fullmatch(str(described.get("format", ""))):
        return match[1]
    if (run := _run_of(path)) is not None and run.worker != "unknown":
        return run.worker
    if is_model_zip(path):
        raise ConfigurationError(
            f"{path} is a file of Stable-Baselines3's model.save(), which operators.sb3({str(path)!r}) reads"
        )
    raise ConfigurationError(
        f"{path} does not say which worker can read it: it is in no run's folder, and nothing beside it "
        f'describes it with a format such as "mosaic-cleanrl/1". With operators.worker(NAME, '
        f'checkpoint="{path}") you name the worker yourself'
    )


def _trained_on(path: Path, described: Mapping[str, Any]) -> str | None:
    """Return the environment's id, from the description, else from the run that the checkpoint is in."""
    run = None if described.get("env_id") else _run_of(path)
    env_id = described.get("env_id") or (run.config.get("env_id") if run is not None else None)
    return str(env_id) if env_id else None


def _run_of(path: Path) -> Run | None:
    return next((Run(folder) for folder in path.parents if (folder / "launch.json").is_file()), None)


def _space(path: Path, value: Any) -> Space | None:
    """Return a described space, None for anything else. Raises ConfigurationError for an invalid one."""
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
            _space(path, spaces.get(f"{what}_space")) for what in ("observation", "action")
        )
        if observation is None or action is None:
            raise ConfigurationError(f"the description of {path} does not have the spaces of {agent!r}")
        by_agent[agent] = observation, action
    return by_agent
