"""Restart a run on another node after its node was lost, from its newest local checkpoint, in the same
folder."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from mosaic_lab.engines.job import Job, with_checkpoint
from mosaic_lab.keeper.events import CHECKPOINT_SAVED
from mosaic_lab.keeper.files import open_for_appending
from mosaic_lab.keeper.run_store import RunFolder

LOST = "telemetry.lost.jsonl"
"""The file of a run folder for telemetry that lost nodes wrote after the checkpoint."""


@dataclass(frozen=True)
class LocalCheckpoint:
    """A checkpoint with local files. ``end`` is the byte offset of the end of its telemetry line."""

    path: Path
    step: int
    end: int


def newest_checkpoint(folder: RunFolder) -> LocalCheckpoint | None:
    """Return the last checkpoint that the telemetry reports and that exists locally."""
    newest, position = None, 0
    if not folder.telemetry_path.exists():
        return None
    with folder.telemetry_path.open("rb") as lines:
        for line in lines:
            position += len(line)
            if CHECKPOINT_SAVED.encode() not in line or not line.endswith(b"\n"):
                continue
            message = json.loads(line)
            if message.get("event") == CHECKPOINT_SAVED:
                path = folder.placed(message["payload"]["checkpoint_path"])
                if path.exists():
                    newest = LocalCheckpoint(path, int(message["payload"].get("step") or 0), position)
    return newest


def next_attempt(job: Job, saved: LocalCheckpoint | None) -> Job:
    """Return the job of the next attempt. Without a checkpoint, it starts like the first attempt."""
    again = replace(job, attempt=job.attempt + 1)
    if saved is None:
        return again
    config, files = with_checkpoint(job.config, saved.path)
    return replace(again, config=config, inputs={**job.inputs, **files})


def go_back(folder: RunFolder, saved: LocalCheckpoint | None, note: str) -> None:
    """Truncate the run's files to the point where the next attempt begins, and note it in the log. Telemetry
    after the checkpoint is moved to `LOST`. Readers find that the file was replaced."""
    _move_rest(folder.telemetry_path, 0 if saved is None else saved.end, folder.path / LOST)
    _cut_partial_line(folder.system_path)
    with open_for_appending(folder.log_path) as log:
        log.write(f"\n{note}\n".encode())


def _move_rest(path: Path, end: int, rest: Path) -> None:
    if not path.exists() or path.stat().st_size <= end:
        return
    new = path.with_name(f".{path.name}.new")
    with path.open("rb") as source, new.open("wb") as kept, open_for_appending(rest) as lost:
        kept.write(source.read(end))
        shutil.copyfileobj(source, lost)
    new.replace(path)


def _cut_partial_line(path: Path) -> None:
    if path.exists():
        with path.open("r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
