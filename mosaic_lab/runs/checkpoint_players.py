"""The workers in which the policies of a training's checkpoints play."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mosaic_lab import workers
from mosaic_lab.engines.job import SERVER
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs.run import Run
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


def background_config(run: Run, players: CheckpointPlayers, variables: Iterable[str]) -> dict[str, Any]:
    """Return the configuration of a run that plays checkpoints of ``run``. ``variables`` are the names of
    environment variables passed on."""
    return {
        **{name: value for name, value in run.config.items() if name in ("algorithm", "env_id", "seed")},
        "training": run.id,
        "beside": not run.finished,
        "family": players.family,
        "arena": players.arena,
        "worker": players.worker,
        "operator": players.operator,
        "variables": sorted(variables),
    }
