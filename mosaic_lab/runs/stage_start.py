"""The checkpoint from which the next run of a curriculum starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mosaic_contract.checkpoints import damage

from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.states import State
from mosaic_lab.runs.checkpoints import Checkpoint, CheckpointFollower, newest_intact
from mosaic_lab.runs.curriculum_checks import stage_name
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.stages import Segment, Stage, stage_starts


def next_stage(segments: Sequence[Segment], stages: Sequence[Stage]) -> int | None:
    """Return the number of the stage whose run starts next, from 0; None at the end of the training."""
    if not segments:
        return 0
    last = segments[-1]
    if not last.done:
        return last.stage
    used_up = stages[last.stage].steps is None and last.reached is None
    return None if used_up or last.stage + 1 == len(stages) else last.stage + 1


def ended(root: Path, segments: Sequence[Segment]) -> Segment:
    """Return the last segment, completed with its end. Its run must have ended."""
    last = segments[-1]
    run = Run(root / last.run)
    early = last.reached is not None and run.state is State.CANCELLED
    saved = _reported(root, segments)
    return replace(last, end=saved[-1].step if saved else 0, done=early or run.trained)


def stage_start(
    root: Path, segments: Sequence[Segment], stage: int, name: str
) -> tuple[Checkpoint | None, str]:
    """Return the checkpoint from which the run of a stage starts, and a sentence about damaged newer ones.

    None: it starts at step 0. ``name`` is the stage's in errors. Raises MosaicError if no intact checkpoint
    since the stage's start exists.
    """
    saved, note = newest_intact([one for segment in segments for one in Run(root / segment.run).checkpoints])
    before = segments[-1].end if segments else None
    needed = stage_starts(segments).get(stage, before or 0)
    if needed <= (saved.step if saved else 0):
        return saved, note
    lost = next((one.path for one in reversed(_reported(root, segments)) if one.step == needed), None)
    location = "" if lost is None else f", {lost},"
    why = damage(lost) if lost is not None and lost.exists() else ""
    newest = f"the newest remaining one is at step {saved.step:,}" if saved else "no checkpoint remains"
    raise MosaicError(
        f"{name} cannot resume: its checkpoint at step {needed:,}{location} "
        f"{f'cannot be loaded ({why})' if why else 'is missing'}, and {newest}. Put the file back and "
        "resume(), or start a new curriculum"
    )


def check_resumable(root: Path, segments: Sequence[Segment], stages: Sequence[Stage]) -> str:
    """Return a sentence about damaged checkpoints that a resumed curriculum skips; empty if there are none.
    Raises MosaicError if its next run cannot start."""
    if segments and segments[-1].end is None:
        run = Run(root / segments[-1].run)
        if run.alive:
            return ""
        segments = [*segments[:-1], *([ended(root, segments)] if run.path.is_dir() else [])]
    stage = next_stage(segments, stages)
    if stage is None:
        return ""
    return stage_start(root, segments, stage, stage_name(stage + 1, stages[stage]))[1]


def _reported(root: Path, segments: Sequence[Segment]) -> list[Checkpoint]:
    """Return all checkpoints that were saved, including those deleted since, oldest first."""
    runs = [Run(root / segment.run) for segment in segments]
    return [saved for run in runs for saved in CheckpointFollower(run.folder).reported()]
