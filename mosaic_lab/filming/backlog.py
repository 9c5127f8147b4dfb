"""Which checkpoint of a training is filmed next: the newest first, and a bounded number kept behind."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.runs.checkpoints import Checkpoint, CheckpointFollower
from mosaic_lab.runs.films import Films

KEPT = 20
"""Checkpoints that wait for their film; where a training saves them faster, the oldest of them get none."""


class Backlog:
    """The checkpoints of the training in ``folder`` that have no film yet.

    ``films``: "each", "last", or the steps of those that are wanted.
    """

    def __init__(self, folder: RunFolder, films: str | Sequence[int]) -> None:
        self._films = films
        self._checkpoints = CheckpointFollower(folder)
        self._settled = {film.step for film in Films(folder)}
        self.empty = True
        """Whether no checkpoint was ever seen."""

    def settle(self, checkpoint: Checkpoint) -> None:
        """Note that this one needs no film any more."""
        self._settled.add(checkpoint.step)

    def look(self, ended: bool) -> tuple[Checkpoint | None, list[Checkpoint]]:
        """Return the next checkpoint to film (None while there is none) and those that are given up for it.

        ``ended``: whether the training has, so that the last checkpoint is known.
        """
        saved = {checkpoint.step: checkpoint for checkpoint in self._checkpoints.read()}
        self.empty = self.empty and not saved
        if self._films == "last":
            newest = max(saved, default=None)
            wanted = [newest] if ended and newest is not None else []
        elif self._films == "each":
            wanted = sorted(saved)
        else:
            wanted = [step for step in self._films if step in saved]
        waiting = [saved[step] for step in wanted if step not in self._settled]
        late = waiting[:-KEPT] if self._films == "each" else []
        for checkpoint in late:
            self.settle(checkpoint)
        return (waiting[-1] if waiting else None), late
