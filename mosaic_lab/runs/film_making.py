"""Start making films: a background run in the same store that follows a training.

Its process is `mosaic_lab.filming`. It does not count towards ``max_running``, ends with the training, and
its failures do not affect the training.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mosaic_lab import workers
from mosaic_lab.engines.job import SERVER
from mosaic_lab.errors import ConfigurationError, MosaicError, warn_user
from mosaic_lab.keeper.environment_variables import USER_SITE
from mosaic_lab.runs.films import MODES, WORKER, FilmMode
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.supervisor import Supervisor
from mosaic_lab.workers import WorkerEnvironment
from mosaic_lab.workers.families import family_of

COMMAND = [sys.executable, "-m", "mosaic_lab.filming"]


@dataclass(frozen=True)
class FilmWorkers:
    """The workers that provide the environment and load the checkpoints, with their commands."""

    family: str
    arena: list[str]
    worker: str
    operator: list[str]


def environments_of(configs: Iterable[Mapping[str, Any]]) -> dict[str, str | None]:
    """Return the ids of the environments of a training, or of the stages of a curriculum, from their
    configurations. Each has the worker that serves it, None if the training makes it."""
    return {str(config.get("env_id", "")): config.get(SERVER, {}).get("worker") for config in configs}


def check_mode(films: Any) -> None:
    """Raise ConfigurationError if ``films`` is not one of the modes."""
    if films not in MODES:
        modes = ", ".join(f'"{mode}"' for mode in MODES[:-1])
        raise ConfigurationError(f'films={films!r}: must be {modes} or "{MODES[-1]}"')


def film_workers(
    worker: WorkerEnvironment, environments: Mapping[str, str | None], progress: Callable[[str], None]
) -> FilmWorkers:
    """Return the requirements for filming this worker's trainings, and install what is missing.

    The environments, as in `environments_of`, are provided as in the training: by the worker that served
    them, or by the worker itself if it can, otherwise by the worker that the ids belong to. Raises
    ConfigurationError if films are not possible.
    """
    modes = worker.capabilities.modes
    if "operate" not in modes:
        raise ConfigurationError(
            f"films: worker '{worker.name}' has no operators, so that no checkpoint of it can act: leave "
            "films= out"
        )
    maker = worker.name if "arena" in modes else None
    try:
        families = {served or maker or family_of(env_id): env_id for env_id, served in environments.items()}
    except ConfigurationError as error:
        raise ConfigurationError(f"films: {error}") from None
    if len(families) > 1:
        makers = ", ".join(f"{env_id} by worker '{family}'" for family, env_id in families.items())
        raise ConfigurationError(f"films: the stages' environments are made by several workers ({makers})")
    (family,) = families
    arena = worker if family == worker.name else workers.ensure(family, progress)
    return FilmWorkers(arena.name, arena.command(), worker.name, worker.command())


def start(
    supervisor: Supervisor,
    run: Run,
    films: str | list[int],
    tools: FilmWorkers,
    *,
    env_vars: Mapping[str, str] | None = None,
    pass_env_vars: Iterable[str] = (),
) -> Run:
    """Start making films of ``run``. ``films`` is a mode or the steps of the checkpoints."""
    pass_env_vars = list(pass_env_vars)
    config = {
        **{name: value for name, value in run.config.items() if name in ("algorithm", "env_id", "seed")},
        "training": run.id,
        "films": films,
        "beside": not run.finished,
        "family": tools.family,
        "arena": tools.arena,
        "worker": tools.worker,
        "operator": tools.operator,
        "variables": sorted({*pass_env_vars, *(env_vars or ())}),
    }
    return supervisor.start(
        COMMAND,
        config,
        worker=WORKER,
        label=f"films of {run.label}"[:200],
        env_vars=USER_SITE | dict(env_vars or {}),
        pass_env_vars=pass_env_vars,
        parent=run.id,
    )


def start_beside(
    supervisor: Supervisor, run: Run, films: FilmMode, tools: FilmWorkers, **options: Any
) -> None:
    """Start making films of a training that has just begun. The training continues if this fails."""
    try:
        start(supervisor, run, films, tools, **options)
    except MosaicError as error:
        warn_user(f"there will be no films of run {run.id}: {error}", UserWarning)


def checked_wish(run: Run, films: Any) -> str | list[int]:
    """Return the checkpoints of a training to film, as accepted by `start`. Raises ConfigurationError."""
    if run.worker == WORKER or run.total_timesteps is None:
        raise ConfigurationError(f"run {run.id} is not a training: its worker is {run.worker}")
    if not isinstance(films, str):
        return _steps(run, films)
    check_mode(films)
    if films == "off":
        raise ConfigurationError('films="off": give "last", "each" or the steps of checkpoints')
    return films


def _steps(run: Run, requested: Iterable[int]) -> list[int]:
    existing = {checkpoint.step for checkpoint in run.checkpoints}
    steps = list(requested)
    if not steps or (unknown := [step for step in steps if step not in existing]):
        there = ", ".join(map(str, sorted(existing)[-10:])) or "none"
        what = f"has no checkpoint of step {unknown[0]!r}" if steps else "films=[] names no checkpoint"
        raise ConfigurationError(f"run {run.id} {what}; the newest are: {there}")
    return sorted(steps)
