"""Rows of a store, made from `Run` each time: until `RunIndex` keeps them current."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_lab.keeper.run_store import RunStore
from mosaic_lab.runs import Run


@dataclass(frozen=True)
class PlainRow:
    id: str
    name: str
    kind: str
    state: str
    reason: str
    alive: bool
    worker: str
    algorithm: str | None
    env: str | None
    seed: int | None
    group: str | None
    created: float | None
    step: int | None
    total_steps: int | None
    progress: float | None
    last_return: float | None
    hyperparameters: dict[str, Any]
    parent: str | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""
    started: float | None = None
    ended: float | None = None
    duration: float | None = None
    episodes: int | None = None
    total_episodes: int | None = None
    speed: float | None = None
    best_return: float | None = None
    sparkline: tuple[float, ...] = field(default=())


class PlainIndex:
    def __init__(self, root: Path | str) -> None:
        self.store = RunStore(root)
        self.version = 0
        self.rows: dict[str, tuple[int, PlainRow]] = {}
        self.gone: dict[str, int] = {}

    def changes(self, version: int) -> tuple[int, list[PlainRow], list[str]]:
        now = {folder.run_id: _row(Run(folder)) for folder in self.store.folders()}
        changed = [row for run_id, row in now.items() if self.rows.get(run_id, (0, None))[1] != row]
        gone = [run_id for run_id in self.rows if run_id not in now]
        if changed or gone:
            self.version += 1
            self.rows.update((row.id, (self.version, row)) for row in changed)
            for run_id in gone:
                del self.rows[run_id]
                self.gone[run_id] = self.version
        if version > self.version:
            version = 0
        rows = [row for since, row in self.rows.values() if since > version]
        return self.version, rows, [run_id for run_id, since in self.gone.items() if since > version > 0]


def _row(run: Run) -> PlainRow:
    config, status = run.config, run.status
    return PlainRow(
        id=run.id,
        name=run.label,
        kind="evaluation" if run.worker == "evaluation" else "training",
        state=str(status.state),
        reason=run.explained(status),
        alive=not status.state.finished,
        worker=run.worker,
        algorithm=config.get("algorithm"),
        env=config.get("env_id"),
        seed=run.seed,
        group=run.group,
        created=run._launch.get("created"),
        step=run.step,
        total_steps=run.total_timesteps,
        progress=run.progress,
        last_return=run.recent_return,
        hyperparameters=run.hyperparameters,
    )
