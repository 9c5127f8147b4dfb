"""Start making films: a background run in the same store that follows a training.

Its process is `mosaic_lab.filming`. It does not count towards ``max_running``, ends with the training, and
its failures do not affect the training.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from mosaic_lab.errors import ConfigurationError, MosaicError, warn_user
from mosaic_lab.keeper.environment_variables import USER_SITE
from mosaic_lab.runs.background_runs import BACKGROUND, FILMS
from mosaic_lab.runs.checkpoint_players import CheckpointPlayers, background_config
from mosaic_lab.runs.films import MODES, FilmMode
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.supervisor import Supervisor

COMMAND = [sys.executable, "-m", "mosaic_lab.filming"]


def check_mode(films: Any) -> None:
    """Raise ConfigurationError if ``films`` is not one of the modes."""
    if films not in MODES:
        modes = ", ".join(f'"{mode}"' for mode in MODES[:-1])
        raise ConfigurationError(f'films={films!r}: must be {modes} or "{MODES[-1]}"')


def start(
    supervisor: Supervisor,
    run: Run,
    films: str | list[int],
    players: CheckpointPlayers,
    *,
    env_vars: Mapping[str, str] | None = None,
    pass_env_vars: Iterable[str] = (),
) -> Run:
    """Start making films of ``run``. ``films`` is a mode or the steps of the checkpoints."""
    pass_env_vars = list(pass_env_vars)
    config = background_config(run, players, {*pass_env_vars, *(env_vars or ())})
    return supervisor.start(
        COMMAND,
        {**config, "films": films},
        worker=FILMS,
        label=f"films of {run.label}"[:200],
        env_vars=USER_SITE | dict(env_vars or {}),
        pass_env_vars=pass_env_vars,
        parent=run.id,
    )


def start_beside(
    supervisor: Supervisor, run: Run, films: FilmMode, players: CheckpointPlayers, **options: Any
) -> None:
    """Start making films of a training that has just begun. The training continues if this fails."""
    try:
        start(supervisor, run, films, players, **options)
    except MosaicError as error:
        warn_user(f"there will be no films of run {run.id}: {error}", UserWarning)


def checked_wish(run: Run, films: Any) -> str | list[int]:
    """Return the checkpoints of a training to film, as accepted by `start`. Raises ConfigurationError."""
    if run.worker in BACKGROUND or run.total_timesteps is None:
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
