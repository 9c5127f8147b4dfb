"""A run's files on its node, for whoever mirrors them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic_lab.engines.engine import Increment, Known, Piece
from mosaic_lab.engines.pieces import GROWING, growing, pieces_of_growing, pieces_of_others
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import RunStatus, State

TICK = 0.03
"""Seconds between looks at the files that grow."""
_SCAN = 1.0  # the same at the others


def folder_of(home: Path, run_id: str, attempt: int) -> RunFolder:
    """Return the folder of an attempt of a run on a node whose own folder is ``home``."""
    return RunFolder(home / "runs" / str(attempt) / run_id)


class NodeFiles:
    """The files in ``folder`` of a run on ``node``; ``starting`` returns its status until a keeper records
    one, and None from then on."""

    def __init__(
        self, folder: RunFolder, node: str, starting: Callable[[], RunStatus | None] = lambda: None
    ) -> None:
        self._folder = folder
        self._node = node
        self._starting = starting
        self._watched = [folder.path / name for name in (folder.state_path.name, *GROWING)]
        self._scanned = 0.0
        self._seen: tuple[Known, object] | None = None
        """The reader and the files when `news` found nothing; it looks again at the time ``_due``."""
        self._due = 0.0

    @property
    def status(self) -> RunStatus:
        """The run's status, as its keeper has recorded it or, before that, as its starting process knows."""
        status = self._starting() or self._folder.status()
        if status.state in (State.RUNNING, State.COMPLETED, State.FAILED, State.CANCELLED, State.LOST):
            return replace(status, reason=f"{status.reason}; on {self._node}")
        return status

    async def read(self, known: Known, seconds: float) -> Increment:
        """Return what is new since ``known``; wait up to ``seconds`` for it."""
        deadline = time.monotonic() + seconds
        while (found := self.news(known)) is None and time.monotonic() < deadline:
            await asyncio.sleep(TICK)
        return found or Increment(_shown(self.status))

    def news(self, known: Known) -> Increment | None:
        """Return what is new since ``known``, or None."""
        seen = known, self._written()
        if seen == self._seen and time.monotonic() < self._due:
            return None
        found = self._look(known)
        if found.pieces or found.complete or found.status != known.status:
            return found
        self._seen, self._due = seen, time.monotonic() + _SCAN  # a keeper that was killed writes nothing
        return None

    def _written(self) -> tuple[object, ...]:
        """Return what changes when there may be something new: `_look` costs fifty times as much."""
        return self._starting(), *(_about(path) for path in self._watched)

    def _look(self, known: Known) -> Increment:
        status, folder = self.status, self._folder.path
        own, of_arenas = growing(folder)
        grown = list(pieces_of_growing(folder, own, known.grown))
        due = status.state.finished or any(b'"checkpoint_saved"' in piece.data for piece in grown)
        others: list[Piece] = []
        if due or time.monotonic() - self._scanned > _SCAN:
            others = list(pieces_of_others(folder, known.others))
            if not others:
                self._scanned = time.monotonic()
        # What a line refers to is there before the line: files first, then the steps of an episode, and lines
        # when all of these are.
        steps = list(pieces_of_growing(folder, of_arenas, known.grown))
        whole = all(piece.offset + len(piece.data) >= piece.size for piece in steps)
        pieces = tuple(others or [*steps, *(grown if whole else ())])
        complete = status.state.finished and not pieces and not self._folder.alive()
        return Increment(_shown(status), pieces, complete)


def _shown(status: RunStatus) -> dict[str, Any]:
    return {"state": str(status.state), "reason": status.reason, "outcome": status.to_dict()["outcome"]}


def _about(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    return about.st_size, about.st_mtime_ns
