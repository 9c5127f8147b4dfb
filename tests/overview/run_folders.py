"""Write run folders that look like finished and live runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import RunStatus, State
from mosaic_lab.runs import Run

START = 1_760_000_000.0


def metrics(step: int | None, at: float | None = None, **values: Any) -> dict[str, Any]:
    """A metrics event ``at`` seconds after the start (default: one second per step)."""
    payload = {"values": values} if step is None else {"step": step, "values": values}
    seconds = step or 0 if at is None else at
    return {"event": "metrics", "run_id": "r", "timestamp": START + seconds, "payload": payload}


def append(folder: Path, events: Iterable[Mapping[str, Any]], name: str = "telemetry.jsonl") -> Path:
    """Append events to a telemetry file of the run in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("a") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)
    return folder


def run_in(
    folder: Path,
    events: Iterable[Mapping[str, Any]],
    *,
    state: State = State.COMPLETED,
    label: str = "",
    config: Mapping[str, Any] | None = None,
    worker: str = "toy",
) -> Run:
    """Write the folder of a run with these events and this state; ``config`` may have hyperparameters."""
    append(folder, events)
    config = dict(config or {})
    write_json(folder / "config.json", config)
    write_json(folder / "launch.json", {"worker": worker, "label": label or folder.name})
    files = RunFolder(folder)
    write_json(files.state_path, RunStatus(state, "", time.time()).to_dict())
    return Run(files)
