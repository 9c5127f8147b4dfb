"""The checkpoints of a run, read from its telemetry.

Crosses the boundary: `Checkpoint`, `read_checkpoints`, `checkpoint_path` for whatever a user calls one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_contract.checkpoints import description_of

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.tail import is_count, is_there
from mosaic_lab.runs.group import RunGroup
from mosaic_lab.runs.run import Run

_NAMED = 3  # checkpoints in an error


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


def checkpoint_path(source: Any) -> Path:
    """The absolute path of a checkpoint: of one of a run's, of a path, or the newest of a run or its folder.

    Raises ConfigurationError where there is none, with what is there instead.
    """
    if isinstance(source, RunGroup):
        raise ConfigurationError(f"a group of {len(source)} runs has as many policies: give one, group[0]")
    if isinstance(source, Run):
        return _newest(source)
    given = source.path if isinstance(source, Checkpoint) else source
    if not isinstance(given, str | Path):
        raise ConfigurationError(f"{given!r} is neither a run, a checkpoint nor the path of one")
    path = Path(given).expanduser().resolve()
    if (path / "launch.json").is_file():
        return _newest(Run(path))
    if not path.exists():
        bare = Path(given).name == str(given) and not path.suffix
        of_a_run = f'; a run is given as lab.run("{given}")' if bare else ""
        raise ConfigurationError(f"there is no checkpoint {path}{_others(path) or of_a_run}")
    if path.is_dir() and not description_of(path).is_file() and (whole := _beside(path)):
        raise ConfigurationError(f"{path} is a part of a checkpoint: give {whole.name}, which lies beside it")
    return path


def _newest(run: Run) -> Path:
    saved = run.checkpoints
    if not saved:
        when = "it has saved none" if run.finished else f"it is {run.state} and has saved none yet"
        raise ConfigurationError(f"run {run.id} ({run.label}) has no checkpoint: {when}")
    return saved[-1].path.resolve()


def _others(path: Path) -> str:
    """What is there instead, for an error."""
    names = sorted(one.name for one in path.parent.glob(f"*{path.suffix or '.pt'}"))
    more = f", … ({len(names)} in all)" if len(names) > _NAMED else ""
    return f"; {path.parent} has {', '.join(names[-_NAMED:])}{more}" if names else ""


def _beside(path: Path) -> Path | None:
    """The described file that a folder belongs to: of ``step-7.rllib`` it is ``step-7.pt``."""
    description = path.with_suffix(".json")
    files = sorted(one for one in path.parent.glob(f"{path.stem}.*") if one.is_file() and one != description)
    return files[0] if description.is_file() and files else None


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
