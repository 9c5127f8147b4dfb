"""The workers in which the policies of a training's checkpoints play."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mosaic_lab import workers
from mosaic_lab.engines.job import SERVER
from mosaic_lab.errors import ConfigurationError, MosaicError, warn_user
from mosaic_lab.keeper.environment_variables import USER_SITE
from mosaic_lab.runs.background_runs import BACKGROUND
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.supervisor import Supervisor
from mosaic_lab.workers import WorkerEnvironment
from mosaic_lab.workers.families import family_of


@dataclass(frozen=True)
class CheckpointPlayers:
    """The workers that provide the environment and load the checkpoints, with their commands."""

    family: str
    arena: list[str]
    worker: str
    operator: list[str]


def environments_of(configs: Iterable[Mapping[str, Any]]) -> dict[str, str | None]:
    """Return the ids of the environments of a training, or of the stages of a curriculum, from their
    configurations. Each has the worker that serves it, None if the training makes it."""
    return {str(config.get("env_id", "")): config.get(SERVER, {}).get("worker") for config in configs}


def checkpoint_players(
    argument: str,
    worker: WorkerEnvironment,
    environments: Mapping[str, str | None],
    progress: Callable[[str], None],
) -> CheckpointPlayers:
    """Return the workers in which checkpoints of this worker's trainings play, and install missing ones.

    The environments, as in `environments_of`, are provided as in the training: by the worker that served
    them, or by the worker itself if it can, otherwise by the worker that the ids belong to. Raises
    ConfigurationError if they cannot play. ``argument`` is the keyword for which they do.
    """
    modes = worker.capabilities.modes
    if "operate" not in modes:
        raise ConfigurationError(
            f"{argument}: worker '{worker.name}' has no operators, so that no checkpoint of it can act: "
            f"leave {argument}= out"
        )
    maker = worker.name if "arena" in modes else None
    try:
        families = {served or maker or family_of(env_id): env_id for env_id, served in environments.items()}
    except ConfigurationError as error:
        raise ConfigurationError(f"{argument}: {error}") from None
    if len(families) > 1:
        makers = ", ".join(f"{env_id} by worker '{family}'" for family, env_id in families.items())
        raise ConfigurationError(
            f"{argument}: the stages' environments are made by several workers ({makers})"
        )
    (family,) = families
    arena = worker if family == worker.name else workers.ensure(family, progress)
    return CheckpointPlayers(arena.name, arena.command(), worker.name, worker.command())


def check_training(run: Run) -> None:
    """Raise ConfigurationError if a run has no checkpoints that can play."""
    if run.worker in BACKGROUND or run.total_timesteps is None:
        raise ConfigurationError(f"run {run.id} is not a training: its worker is {run.worker}")


def start_background_run(
    supervisor: Supervisor,
    run: Run,
    players: CheckpointPlayers,
    package: str,
    *,
    worker: str,
    label: str,
    env_vars: Mapping[str, str] | None = None,
    pass_env_vars: Iterable[str] = (),
    **settings: Any,
) -> Run:
    """Start a run that plays checkpoints of ``run``: the process of ``package``, a `CheckpointRunner` with
    these ``settings``. It does not count towards ``max_running`` and ends with the training."""
    pass_env_vars = list(pass_env_vars)
    config = {
        **{name: value for name, value in run.config.items() if name in ("algorithm", "env_id", "seed")},
        **settings,
        "training": run.id,
        "beside": not run.finished,
        "family": players.family,
        "arena": players.arena,
        "worker": players.worker,
        "operator": players.operator,
        "variables": sorted({*pass_env_vars, *(env_vars or ())}),
    }
    return supervisor.start(
        [sys.executable, "-m", package],
        config,
        worker=worker,
        label=f"{label} of {run.label}"[:200],
        env_vars=USER_SITE | dict(env_vars or {}),
        pass_env_vars=pass_env_vars,
        parent=run.id,
    )


def start_beside(run: Run, start: Callable[[], Run], lost: str) -> None:
    """Start a background run of a training that has just begun. The training continues if this fails, with a
    warning about what is ``lost``."""
    try:
        start()
    except MosaicError as error:
        warn_user(f"run {run.id} continues without {lost}: {error}", UserWarning)
