"""A run's files on its node, read by mirrors."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic_lab.engines.engine import FileChunk, Increment, Known
from mosaic_lab.engines.job import INPUTS
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import RunStatus, State

GROWING = ("telemetry.jsonl", "system.jsonl", "worker.log")
"""Files of a run that only grow. The log may also be cut, and is then sent again. See `growing`."""
_ARENAS = "arenas"
_OWN = {
    "config.json",
    "launch.json",
    "provenance.json",
    "state.json",
    "stop.json",
    "keeper.lock",
    "keeper.log",
}
CHUNK_BYTES = 4 << 20
"""Maximum bytes sent at once."""


def growing(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names of the files in a run folder that only grow: the run's own, and those of an
    evaluation's arenas."""
    names = (str(path.relative_to(folder)) for path in folder.glob(f"{_ARENAS}/*/*"))
    return list(GROWING), sorted(name for name in names if is_growing(name))


def is_growing(name: str) -> bool:
    """Return whether `growing` includes files of this name."""
    return name in GROWING or (name.startswith(f"{_ARENAS}/") and name.endswith((".jsonl", ".log")))


def chunks_of_growing(folder: Path, names: Iterable[str], known: Mapping[str, int]) -> Iterable[FileChunk]:
    """Yield a chunk of each file in ``names`` that has more or fewer bytes than ``known``."""
    for name in names:
        try:
            with (folder / name).open("rb") as file:
                status = os.fstat(file.fileno())
                offset = known.get(name, 0)
                if status.st_size == offset:
                    continue
                offset = 0 if status.st_size < offset else offset
                file.seek(offset)
                yield FileChunk(name, offset, file.read(CHUNK_BYTES), status.st_size, status.st_mtime_ns)
        except FileNotFoundError:
            continue


def chunks_of_others(folder: Path, known: Mapping[str, tuple[int, int]]) -> Iterable[FileChunk]:
    """Yield chunks of the other files that differ from ``known``, at most `CHUNK_BYTES` bytes in total.

    ``known`` contains the size and modification time of each file by its path in the folder. If a file is
    known in part, with the same modification time, only the rest is sent.
    """
    remaining = CHUNK_BYTES
    for path in _other_files(folder):
        name = str(path.relative_to(folder))
        size, changed = known.get(name, (0, 0))
        try:
            status = path.stat()
            if (size, changed) == (status.st_size, status.st_mtime_ns):
                continue
            if remaining <= 0:
                return
            offset = size if changed == status.st_mtime_ns else 0
            with path.open("rb") as file:
                file.seek(offset)
                data = file.read(remaining)
        except FileNotFoundError:  # a temporary file, renamed or removed since it was listed
            continue
        remaining -= max(1, len(data))
        yield FileChunk(name, offset, data, status.st_size, status.st_mtime_ns)


def _other_files(folder: Path) -> list[Path]:
    others = []
    for root, folders, names in os.walk(folder):
        top = Path(root) == folder
        folders[:] = [name for name in folders if not name.startswith(".") and not (top and name == INPUTS)]
        excluded = _OWN if top else set()
        files = (Path(root, name) for name in names if not name.startswith(".") and name not in excluded)
        others += [file for file in files if file.is_file() and not file.is_symlink()]
    return sorted(file for file in others if not is_growing(str(file.relative_to(folder))))


TICK = 0.03
"""Seconds between polls of the growing files."""
_SCAN = 1.0  # seconds between polls of the other files


def folder_of(home: Path, run_id: str, attempt: int) -> RunFolder:
    """Return the folder of an attempt of a run on a node with our folder ``home``."""
    return RunFolder(home / "runs" / str(attempt) / run_id)


class NodeFiles:
    """The files in ``folder`` of a run on ``node``. ``starting`` returns the run's status until a keeper
    records it, then None."""

    def __init__(
        self, folder: RunFolder, node: str, starting: Callable[[], RunStatus | None] = lambda: None
    ) -> None:
        self._folder = folder
        self._node = node
        self._starting = starting
        self._watched = [folder.path / name for name in (folder.state_path.name, *GROWING)]
        self._scanned = 0.0
        self._last_state: tuple[Known, object] | None = None
        """The reader's state and the state of the files when `news` last found nothing. It looks again once
        one of them changes, or at the time ``_next_scan``."""
        self._next_scan = 0.0

    @property
    def status(self) -> RunStatus:
        """The run's status, recorded by its keeper or, before that, reported by the process that starts
        it."""
        status = self._starting() or self._folder.status()
        if status.state in (State.RUNNING, State.COMPLETED, State.FAILED, State.CANCELLED, State.LOST):
            return replace(status, reason=f"{status.reason}; on {self._node}")
        return status

    async def read(self, known: Known, seconds: float) -> Increment:
        """Return changes since ``known``, waiting up to ``seconds`` for them."""
        deadline = time.monotonic() + seconds
        while (increment := self.news(known)) is None and time.monotonic() < deadline:
            await asyncio.sleep(TICK)
        return increment or Increment(_status_fields(self.status))

    def news(self, known: Known) -> Increment | None:
        """Return changes since ``known``, or None."""
        state = known, self._file_state()
        if state == self._last_state and time.monotonic() < self._next_scan:
            return None
        increment = self._look(known)
        if increment.chunks or increment.complete or increment.status != known.status:
            return increment
        self._last_state = state
        self._next_scan = time.monotonic() + _SCAN  # a keeper that was killed writes nothing
        return None

    def _file_state(self) -> tuple[object, ...]:
        """Return a value that changes whenever there may be news, fifty times faster than `_look`."""
        return self._starting(), *(_size_and_time(path) for path in self._watched)

    def _look(self, known: Known) -> Increment:
        status, folder = self.status, self._folder.path
        of_run, of_arenas = growing(folder)
        grown = list(chunks_of_growing(folder, of_run, known.grown))
        is_due = status.state.finished or any(b'"checkpoint_saved"' in chunk.data for chunk in grown)
        others: list[FileChunk] = []
        if is_due or time.monotonic() - self._scanned > _SCAN:
            others = list(chunks_of_others(folder, known.others))
            if not others:
                self._scanned = time.monotonic()
        # Files must arrive before the lines that refer to them: first other files, then the steps of
        # episodes, and the remaining lines once those are complete.
        steps = list(chunks_of_growing(folder, of_arenas, known.grown))
        steps_complete = all(chunk.offset + len(chunk.data) >= chunk.size for chunk in steps)
        chunks = tuple(others or [*steps, *(grown if steps_complete else ())])
        complete = status.state.finished and not chunks and not self._folder.alive()
        return Increment(_status_fields(status), chunks, complete)


def _status_fields(status: RunStatus) -> dict[str, Any]:
    return {"state": str(status.state), "reason": status.reason, "outcome": status.to_dict()["outcome"]}


def _size_and_time(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns
