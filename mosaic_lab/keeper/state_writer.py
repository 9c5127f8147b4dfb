"""Write ``state.json``, even if the disk is full. A failed write is repeated later. The final state is
written into blocks reserved at the start of the run, so a full disk cannot hide how a run ended."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

from mosaic_lab.keeper.processes import place, start_time
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import Outcome, RunStatus, State, queued

_RESERVED = 16 << 10  # bytes; a state file needs a tenth of this


class StateWriter:
    """The run's status as known to its keeper, and its file."""

    def __init__(self, folder: RunFolder, keeper_pid: int) -> None:
        self.folder = folder
        """The folder of the file; reassigned if the run folder is moved."""
        self._unsaved = False
        self.status: RunStatus = replace(
            queued("its keeper has just started", time.time()),
            keeper_pid=keeper_pid,
            keeper_started=start_time(keeper_pid),
            place=place(),
            earlier_seconds=folder.status().earlier_seconds,
        )
        self._set_aside()
        self._save()

    def started(self, worker_pid: int, gpus: tuple[int, ...], monotonic: float) -> None:
        self.status = replace(self.status, worker_pid=worker_pid, gpus=gpus, started_monotonic=monotonic)

    def started_elsewhere(self, monotonic: float) -> None:
        """Record that a node started the worker at about this time on the monotonic clock of this machine."""
        self.status = replace(self.status, started_monotonic=monotonic)

    def move(self, state: State, reason: str) -> None:
        """Record a change of state or reason, if any."""
        if (state, reason) != (self.status.state, self.status.reason):
            self.status = self.status.moved_to(state, reason, time.time())
            self._save()

    def flush(self) -> None:
        """Repeat a write that a full disk prevented."""
        if self._unsaved:
            self._save()

    def finish(self, state: State, reason: str, outcome: Outcome) -> None:
        self.status = replace(self.status.moved_to(state, reason, time.time()), outcome=outcome)
        self._save()
        if self._unsaved:
            self._save_in_reserve()
        self._reserve.unlink(missing_ok=True)

    def _save(self) -> None:
        try:
            write_json(self.folder.state_path, self.status.to_dict())
            self._unsaved = False
        except OSError:
            self._unsaved = True

    @property
    def _reserve(self) -> Path:
        return self.folder.path / ".state.reserve"

    def _set_aside(self) -> None:
        try:
            self._reserve.write_bytes(b" " * _RESERVED)
        except OSError:
            self._reserve.unlink(missing_ok=True)

    def _save_in_reserve(self) -> None:
        content = json.dumps(self.status.to_dict()).encode()
        with self._reserve.open("r+b") as file:
            file.write(content)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        self._reserve.replace(self.folder.state_path)
        self._unsaved = False
