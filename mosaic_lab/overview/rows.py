"""A run as one row of a table of runs: plain data that can be written as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_lab.keeper.files import folders_in
from mosaic_lab.keeper.run_store import RunFolder, comparison_lives
from mosaic_lab.keeper.states import KERNEL_ENDED, RunStatus, State
from mosaic_lab.runs import Run
from mosaic_lab.runs.annotations import Annotations, read_annotations
from mosaic_lab.runs.checkpoint_path import continued_run
from mosaic_lab.runs.kinds import kind_of
from mosaic_lab.runs.run_labels import comparison_label
from mosaic_lab.sanitize import sanitize

_LARGEST = 2**53  # JavaScript's numbers are exact integers up to here


@dataclass(frozen=True)
class RunRow:
    """One row. Times are Unix seconds; unknown values are None.

    ``label`` is the run's label from its start; ``name`` is the same until the user sets another. ``kind`` is
    "training", "evaluation", "comparison", "sweep", "films", "checkpoint evaluation" or "script". ``parent``
    is the id of the enclosing run: a trial's sweep, a stage's curriculum. ``continues`` is the id of the run
    from whose checkpoint this one continues. ``total_steps`` are the steps to train, in whole updates;
    ``requested_steps`` the requested ones. ``trials`` counts the ended trials of a sweep, or the ended
    segments of a population, which is ``segmented``. ``started`` is the start of the newest session,
    ``earlier_seconds`` the duration of the sessions before it. ``duration`` is in seconds, ``speed`` in
    steps per second: for a live run over the last 12 seconds, for an ended run over ``duration``.
    ``hyperparameters`` begin with the explicitly given ones.

    ``last_return`` is the mean of the last 20 episodes, ``best_return`` the best mean over 20 consecutive
    episodes, ``sparkline`` at most 40 means over equal parts of the returns so far. These three and ``speed``
    are filled in later, after the run's telemetry has been read.
    """

    id: str
    name: str
    label: str
    kind: str
    state: str
    reason: str
    alive: bool
    worker: str
    algorithm: str | None = None
    env: str | None = None
    seed: int | None = None
    group: str | None = None
    parent: str | None = None
    continues: str | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""
    created: float | None = None
    started: float | None = None
    earlier_seconds: float = 0.0
    ended: float | None = None
    duration: float | None = None
    step: int | None = None
    total_steps: int | None = None
    requested_steps: int | None = None
    episodes: int | None = None
    total_episodes: int | None = None
    trials: int | None = None
    total_trials: int | None = None
    segmented: bool = False
    progress: float | None = None
    speed: float | None = None
    last_return: float | None = None
    best_return: float | None = None
    sparkline: tuple[float, ...] = ()
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)


def run_row(
    run: Run,
    step: int | None = None,
    episodes: int | None = None,
    trials: int | None = None,
    trouble: str = "",
) -> RunRow:
    """Return the row of a run from its small files alone.

    ``step``, ``episodes`` and ``trials`` are the progress, if known. ``trouble`` is the reason if it is
    unknown.
    """
    status, config = run.status, run.config
    annotations = read_annotations(run.folder)
    starts = [change.timestamp for change in status.history if change.state is State.STARTING]
    ended = status.since if status.state.finished and status.since else None
    total_steps = _integer(run.total_timesteps)
    total_episodes = _integer(config.get("total_episodes"))
    total_trials = _integer(config.get("total_trials"))
    if status.state is State.COMPLETED and total_episodes is not None:
        episodes = total_episodes
    parts = (trials, total_trials) if total_trials else (episodes, total_episodes)
    return RunRow(
        id=run.id,
        name=annotations.name or run.label,
        label=run.label,
        kind=kind_of(run).name,
        state=str(status.state),
        reason="; ".join(filter(None, (run.explained(status), trouble))),
        alive=run.lives(status),
        worker=run.worker,
        algorithm=_text(config.get("algorithm")),
        env=_text(config.get("env_id")),
        seed=_integer(config.get("seed")),
        group=run.group,
        parent=run.parent or run.sweep or run.curriculum,
        continues=continued_run(run),
        tags=annotations.tags,
        notes=annotations.notes,
        created=run.created,
        started=starts[-1] if starts else None,
        earlier_seconds=status.earlier_seconds,
        ended=ended,
        duration=run.seconds(status),
        step=step,
        total_steps=total_steps,
        requested_steps=_integer(run.requested_timesteps),
        episodes=episodes,
        total_episodes=total_episodes,
        trials=trials,
        total_trials=total_trials,
        segmented=config.get("interval") is not None,
        progress=_progress(status, step, total_steps, *parts),
        hyperparameters=showable(run.hyperparameters),
    )


def unreadable_row(run_id: str, kind: str, reason: str) -> RunRow:
    """Return the row of a run or comparison that cannot be read."""
    return RunRow(run_id, run_id, run_id, kind, str(State.LOST), reason, alive=False, worker="unknown")


def showable(value: Any) -> Any:
    """Return a JSON value in a form that a page can read.

    Strings are sanitized. Numbers that JSON or JavaScript cannot represent become strings.
    """
    if isinstance(value, int) and abs(value) > _LARGEST:
        return f"{value}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value}"
    if isinstance(value, Mapping):
        return {sanitize(str(name)): showable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [showable(item) for item in value]
    return sanitize(value) if isinstance(value, str) else value


def comparison_row(folder: Path) -> RunRow:
    """Return the row of a comparison, from the folders of its lanes."""
    lanes = [Run(RunFolder(lane)) for lane in folders_in(folder)]
    alive = comparison_lives(folder)
    statuses = [lane.status for lane in lanes]
    cut_short = not alive and any(
        status.state is State.LOST or status.reason == KERNEL_ENDED for status in statuses
    )
    ended = State.CANCELLED if cut_short else State.COMPLETED
    config = lanes[0].config if lanes else {}
    created = [lane.created for lane in lanes if lane.created is not None]
    end_times = [] if alive else [status.since for status in statuses]
    annotations = read_annotations(RunFolder(folder)) if lanes else Annotations()
    label = comparison_label(folder)
    count = f"{len(lanes)} lane{'' if len(lanes) == 1 else 's'}"
    return RunRow(
        id=sanitize(folder.name),
        name=annotations.name or label,
        label=label,
        kind="comparison",
        state=str(State.RUNNING if alive else ended),
        reason=f"{count}; ended with its kernel" if cut_short else count,
        alive=alive,
        worker="",
        env=_text(config.get("env_id")),
        tags=annotations.tags,
        notes=annotations.notes,
        created=min(created, default=None),
        started=min(created, default=None),
        ended=max(end_times, default=None),
        duration=max(end_times) - min(created) if end_times and created else None,
    )


def _progress(
    status: RunStatus, step: int | None, total: int | None, done_parts: int | None, total_parts: int | None
) -> float | None:
    if status.state is State.COMPLETED:
        return 1.0
    done, full = (done_parts, total_parts) if total_parts else (step, total)
    return min(1.0, done / full) if done is not None and full else None


def _text(value: object) -> str | None:
    return sanitize(value) if isinstance(value, str) and value else None


def _integer(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return value
    return None
