"""Resolve the path of a checkpoint from any form in which a user can specify it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from mosaic_contract.checkpoints import description_of

from mosaic_lab.errors import ConfigurationError, warn_user
from mosaic_lab.keeper.run_store import is_run_id
from mosaic_lab.runs.checkpoints import Checkpoint, newest_intact
from mosaic_lab.runs.group import RunGroup
from mosaic_lab.runs.isolation import isolated
from mosaic_lab.runs.kinds import kind_of
from mosaic_lab.runs.run import Run

_NAMED = 3  # maximum checkpoints listed in an error


def checkpoint_path(source: Any, *, intact: bool = False) -> Path:
    """Return the absolute path of a checkpoint, given as a `Checkpoint`, a path, or a run (for its newest
    checkpoint).

    ``intact``: skip damaged checkpoints of a run, with a warning. Raises ConfigurationError if there is none,
    listing those available.
    """
    if isinstance(source, RunGroup):
        raise ConfigurationError(
            f"a group of {len(source)} runs has as many policies: pass one run, such as group[0]"
        )
    if isinstance(source, Run):
        return _newest(source, intact)
    location = source.path if isinstance(source, Checkpoint) else source
    if not isinstance(location, str | Path):
        raise ConfigurationError(f"{location!r} is neither a run, a checkpoint nor the path of one")
    path = Path(location).expanduser().resolve()
    if (path / "launch.json").is_file():
        return _newest(Run(path), intact)
    if not path.exists():
        raise ConfigurationError(f"there is no checkpoint {path}{_available(path)}")
    if path.is_dir() and not description_of(path).is_file() and (parent := _described_file(path)):
        raise ConfigurationError(f"{path} is a part of a checkpoint: give {parent.name}, which is beside it")
    return path


def continued_run(run: Run) -> str | None:
    """Return the id of the run whose checkpoint this run resumes from; None if it began at step 0."""
    source = run.resumed_from
    parts = () if source is None else source.parts
    return next((part for part in reversed(parts) if is_run_id(part) and part != run.id), None)


def first_step(run: Run, reported: int | None) -> int:
    """Return the step at which a run began: 0, or that of the checkpoint that it continues. ``reported`` is
    the first step that it reported, for checkpoints whose names lack the step."""
    if run.resumed_from is None:
        return 0
    steps = [step for step in (run.resumed_step, reported) if step is not None]
    return min(steps, default=0)


def source_of(run: Run) -> str | None:
    """Return `continued_run(run)`, or None if the files of the run cannot be read."""
    return isolated(partial(continued_run, run), lambda reason: None)


def _newest(run: Run, intact: bool) -> Path:
    saved = run.checkpoints
    if not saved:
        why = "it ended before it saved one" if run.finished else f"it is {run.state} and has saved none yet"
        if (kind := kind_of(run)).policies:
            why = f"its kind is {kind.name}, not training. Pass {kind.policies}"
        raise ConfigurationError(f"run {run.id} ({run.label}) has no checkpoint: {why}")
    if not intact:
        return saved[-1].path.resolve()
    newest, note = newest_intact(saved)
    if newest is None:
        raise ConfigurationError(f"run {run.id} ({run.label}) has no checkpoint that can be loaded: {note}")
    if note:
        warn_user(note, UserWarning)
    return newest.path.resolve()


def _available(path: Path) -> str:
    """Return an error's list of the checkpoints in the folder of ``path``."""
    names = sorted(checkpoint.name for checkpoint in path.parent.glob(f"*{path.suffix or '.pt'}"))
    total = f", … ({len(names)} total)" if len(names) > _NAMED else ""
    return f"; {path.parent} has {', '.join(names[-_NAMED:])}{total}" if names else ""


def _described_file(path: Path) -> Path | None:
    """Return the described file to which a folder belongs: ``step-7.pt`` for ``step-7.rllib``."""
    description = path.with_suffix(".json")
    files = sorted(
        file for file in path.parent.glob(f"{path.stem}.*") if file.is_file() and file != description
    )
    return files[0] if description.is_file() and files else None
