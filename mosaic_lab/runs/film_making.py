"""Start making films: a background run in the same store that follows a training.

Its process is `mosaic_lab.filming`. It does not count towards ``max_running``, ends with the training, and
its failures do not affect the training.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs.background_runs import FILMS
from mosaic_lab.runs.checkpoint_players import CheckpointPlayers, check_training, start_background_run
from mosaic_lab.runs.films import MODES
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.supervisor import Supervisor

_PACKAGE = "mosaic_lab.filming"


def check_mode(films: Any) -> None:
    """Raise ConfigurationError if ``films`` is not one of the modes."""
    if films not in MODES:
        modes = ", ".join(f'"{mode}"' for mode in MODES[:-1])
        raise ConfigurationError(f'films={films!r}: must be {modes} or "{MODES[-1]}"')


def start(
    supervisor: Supervisor, run: Run, films: str | list[int], players: CheckpointPlayers, **variables: Any
) -> Run:
    """Start making films of ``run``; see `start_background_run`. ``films`` is a mode or the steps of the
    checkpoints."""
    return start_background_run(
        supervisor, run, players, _PACKAGE, worker=FILMS, label="films", films=films, **variables
    )


def checked_wish(run: Run, films: Any) -> str | list[int]:
    """Return the checkpoints of a training to film, as accepted by `start`. Raises ConfigurationError."""
    check_training(run)
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
