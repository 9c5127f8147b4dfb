"""Start the background runs that film or evaluate the checkpoints of a training.

Each is a run in the same store that follows the training. Its process is `mosaic_lab.filming` or
`mosaic_lab.checkpoint_evaluation`; the latter adds a line for each checkpoint to the training's
``evaluations.jsonl``, whose metrics count as the training's own. These runs do not count towards
``max_running`` and end with the training, and their failures do not affect it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mosaic_contract.config import nearest

from mosaic_lab import workers
from mosaic_lab.engines.job import SERVER
from mosaic_lab.errors import ConfigurationError, MosaicError, warn_user
from mosaic_lab.keeper.environment_variables import USER_SITE
from mosaic_lab.runs.checkpoints import BACKGROUND, EVALUATIONS, FILMS, background_runs, mean_returns
from mosaic_lab.runs.films import MAX_WAITING, MODES
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.supervisor import Supervisor
from mosaic_lab.runs.train_request import TrainRequest, whole_number
from mosaic_lab.workers import WorkerEnvironment
from mosaic_lab.workers.families import family_of

_PROCESSES = {
    FILMS: ("mosaic_lab.filming", "films"),
    EVALUATIONS: ("mosaic_lab.checkpoint_evaluation", "evaluations"),
}
"""For each worker, the package of its process and what it produces."""
_EVALUATION = ("seeds", "until", "until_mean", "patience")  # settings


@dataclass(frozen=True)
class CheckpointPlayers:
    """The workers that provide the environment and load the checkpoints, with their commands."""

    family: str
    arena: list[str]
    worker: str
    operator: list[str]


def environments_of(configs: Iterable[Mapping[str, Any]]) -> dict[str, str | None]:
    """Return the environments of a training, or of a curriculum's stages, from their configurations: a
    mapping from id to the worker that serves the environment, or None if the training makes it itself."""
    return {str(config.get("env_id", "")): config.get(SERVER, {}).get("worker") for config in configs}


def checkpoint_players(
    argument: str,
    worker: WorkerEnvironment,
    environments: Mapping[str, str | None],
    progress: Callable[[str], None],
) -> CheckpointPlayers:
    """Return the workers with which checkpoints of this worker's trainings play. Missing ones are installed.

    The environments, as in `environments_of`, are provided as in the training: by the worker that served
    them, or by the worker itself if it can, otherwise by the worker that the ids belong to. Raises
    ConfigurationError if they cannot play. ``argument`` is the keyword that requires it, for errors.
    """
    modes = worker.capabilities.modes
    if "operate" not in modes:
        raise ConfigurationError(
            f"{argument}: worker '{worker.name}' has no operators, so none of its checkpoints can act: "
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


def players_of(argument: str, run: Run, progress: Callable[[str], None]) -> CheckpointPlayers:
    """Return the workers with which the checkpoints of a training play, as `checkpoint_players` does."""
    configs = [plan["config"] for plan in run.config.get("stage_plans", ())] or [run.config]
    worker = workers.ensure(run.worker, progress)
    return checkpoint_players(argument, worker, environments_of(configs), progress)


def check_is_training(run: Run) -> None:
    """Raise ConfigurationError if a run has no checkpoints that can play."""
    if run.worker in BACKGROUND or run.total_timesteps is None:
        raise ConfigurationError(f"run {run.id} is not a training: its worker is {run.worker}")


def start_background_run(
    supervisor: Supervisor,
    run: Run,
    players: CheckpointPlayers,
    worker: str,
    *,
    env_vars: Mapping[str, str] | None = None,
    pass_env_vars: Iterable[str] = (),
    **settings: Any,
) -> Run:
    """Start a run that works with the checkpoints of ``run``. ``worker`` is `FILMS`, with ``films`` (a mode,
    or steps of checkpoints) and ``planned_films`` (their number, if known), or `EVALUATIONS`, with
    ``evaluate`` (see `checked_evaluation`)."""
    package, products = _PROCESSES[worker]
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
        label=f"{products} of {run.label}"[:200],
        env_vars=USER_SITE | dict(env_vars or {}),
        pass_env_vars=pass_env_vars,
        parent=run.id,
    )


def start_beside(
    supervisor: Supervisor, run: Run, players: CheckpointPlayers, worker: str, **settings: Any
) -> None:
    """Start a background run for a training that has just begun; see `start_background_run`. If this fails,
    warn: the training continues."""
    try:
        start_background_run(supervisor, run, players, worker, **settings)
    except MosaicError as error:
        warn_user(f"run {run.id} continues without {_PROCESSES[worker][1]}: {error}", UserWarning)


def requested_background(request: TrainRequest) -> dict[str, dict[str, Any]]:
    """Return the settings of the background runs that a training requests, by worker. Raises
    ConfigurationError."""
    requested: dict[str, dict[str, Any]] = {}
    if request.films != "off":
        requested[FILMS] = {"films": request.films}
    if request.evaluate is not None:
        requested[EVALUATIONS] = {"evaluate": checked_evaluation(request.evaluate)}
    return requested


def resume_background(supervisor: Supervisor, run: Run, env_vars: Mapping[str, str] | None = None) -> None:
    """Start the background runs of an interrupted training again.

    Either ``run`` itself continues, or it has ended and another run continues it; then only its remaining
    checkpoints are evaluated. The background runs started with it are stopped first, because they may be
    about to end with it.
    """
    request = TrainRequest.of_run(run)
    requested = requested_background(request)
    if run.finished:
        requested.pop(FILMS, None)
        evaluated = mean_returns(run.folder)
        if all(saved.step in evaluated for saved in run.checkpoints):
            requested.pop(EVALUATIONS, None)
    if not requested:
        return
    names = [name for name in request.pass_env_vars if name not in (env_vars or {})]
    try:
        for folder in background_runs(run.folder, *requested):
            if folder.config().get("beside"):
                Run(folder).stop(0)
        players = players_of("films" if FILMS in requested else "evaluate", run, print)
    except MosaicError as error:
        warn_user(f"checkpoints of run {run.id} are not filmed or evaluated: {error}", UserWarning)
        return
    for worker, settings in requested.items():
        start_beside(supervisor, run, players, worker, env_vars=env_vars, pass_env_vars=names, **settings)


def films_to_make(run: Run, films: Any) -> str | list[int]:
    """Return the checkpoints of a training to film: a mode, or steps. Raises ConfigurationError."""
    check_is_training(run)
    if not isinstance(films, str):
        return _existing_steps(run, films)
    if films not in MODES:
        modes = ", ".join(f'"{mode}"' for mode in MODES[:-1])
        raise ConfigurationError(f'films={films!r}: must be {modes} or "{MODES[-1]}"')
    if films == "off":
        raise ConfigurationError('films="off": give "last", "each" or the steps of checkpoints')
    return films


def number_to_make(run: Run, films: str | list[int]) -> int | None:
    """Return how many ``films`` (see `films_to_make`) a training lacks; None while it may save more."""
    if isinstance(films, str) and not run.finished:
        return None
    saved = sorted({checkpoint.step for checkpoint in run.checkpoints})
    steps = {"last": saved[-1:], "each": saved}[films] if isinstance(films, str) else films
    missing = len({*steps} - {film.step for film in run.films})
    return min(missing, MAX_WAITING) if films == "each" else missing


def _existing_steps(run: Run, requested: Iterable[int]) -> list[int]:
    existing = {checkpoint.step for checkpoint in run.checkpoints}
    steps = list(requested)
    if not steps or (unknown := [step for step in steps if step not in existing]):
        newest = ", ".join(map(str, sorted(existing)[-10:])) or "none"
        problem = f"has no checkpoint of step {unknown[0]!r}" if steps else "films=[] names no checkpoint"
        raise ConfigurationError(f"run {run.id} {problem}; the newest are: {newest}")
    return sorted(steps)


def checked_evaluation(evaluate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an evaluation of checkpoints as JSON-compatible data. Raises
    ConfigurationError."""
    if not isinstance(evaluate, Mapping):
        raise ConfigurationError(
            f'evaluate={evaluate!r:.100}: give a mapping, such as {{"seeds": range(10)}}'
        )
    for name in evaluate:
        if name not in _EVALUATION:
            raise ConfigurationError(
                f"evaluate has no {name!r}{nearest(str(name), _EVALUATION)}. Each checkpoint is evaluated: "
                "checkpoint_every= of lab.train is the number of steps between two of them"
            )
    numbers = evaluate.get("seeds", range(10))
    if isinstance(numbers, str | bytes) or not isinstance(numbers, Iterable):
        raise ConfigurationError(f"evaluate: seeds={numbers!r:.100} must be several integers, like range(10)")
    seeds = [whole_number("evaluate: seeds", seed) for seed in numbers]
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise ConfigurationError("evaluate: seeds must be distinct integers ≥ 0, such as range(10)")
    for name in ("until", "until_mean"):
        goal = evaluate.get(name)
        if goal is not None and (isinstance(goal, bool) or not isinstance(goal, int | float)):
            raise ConfigurationError(f"evaluate: {name}={goal!r} must be a mean return, a number")
    patience = evaluate.get("patience")
    if evaluate.get("until") is not None and len(seeds) < 2:
        raise ConfigurationError("evaluate: until needs at least two seeds, for an interval of the return")
    if patience is not None and (type(patience) is not int or patience < 1):
        raise ConfigurationError(f"evaluate: patience={patience!r} must be a number of evaluations, ≥ 1")
    return {"seeds": seeds} | {
        name: evaluate[name] for name in _EVALUATION[1:] if evaluate.get(name) is not None
    }
