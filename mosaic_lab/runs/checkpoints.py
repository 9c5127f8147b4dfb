"""The checkpoints of a run, read from its telemetry."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.tail import is_count, is_there


@dataclass(frozen=True)
class Checkpoint:
    """One saved checkpoint: a file or a folder. ``step`` counts environment steps."""

    path: Path
    step: int = 0
    episode: int = 0
    metrics: dict[str, Any] = field(default_factory=dict)
    format: str = ""


def read_checkpoints(folder: RunFolder) -> list[Checkpoint]:
    """What the worker reported as saved and is still there, oldest first."""
    from mosaic_contract.codec import decode_line
    from mosaic_contract.errors import BadLine

    from mosaic_lab.telemetry import JsonlFollower

    found: dict[Path, Checkpoint] = {}
    follower = JsonlFollower(folder.telemetry_path)
    while (lines := follower.poll()) or follower.behind:
        for line in lines:
            if b'"checkpoint_saved"' not in line:
                continue
            try:
                checkpoint = _checkpoint(folder, decode_line(line))
            except BadLine:
                continue
            if checkpoint is not None:
                found.pop(checkpoint.path, None)  # saved again: it takes the place of its newest save
                found[checkpoint.path] = checkpoint
    follower.close()
    return [checkpoint for checkpoint in found.values() if is_there(checkpoint.path)]


def _checkpoint(folder: RunFolder, message: dict[str, Any]) -> Checkpoint | None:
    payload = message.get("payload")
    if message.get("event") != "checkpoint_saved" or not isinstance(payload, dict):
        return None
    path = payload.get("checkpoint_path")
    if not isinstance(path, str) or not path:
        return None
    metrics = payload.get("metrics")
    return Checkpoint(
        path=folder.path / path,
        step=_count(payload.get("step")),
        episode=_count(payload.get("episode")),
        metrics=metrics if isinstance(metrics, dict) else {},
        format=str(payload.get("format") or ""),
    )


def _count(value: object) -> int:
    return int(value) if is_count(value) else 0
