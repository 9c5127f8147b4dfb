"""Writing ``state.json``, also when the disk is full.

A change that cannot be written is tried again; the final one is written into blocks that were reserved when
the run began, so a full disk cannot hide how a run ended.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

from mosaic_lab.keeper.processes import place, start_time
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import Outcome, RunStatus, State, queued

_RESERVED = 16 << 10  # bytes; a state file is a tenth of it


class StateWriter:
    """The run's status as its keeper knows it, and its file."""

    def __init__(self, folder: RunFolder, keeper_pid: int) -> None:
        self.folder = folder
        """Where the file is written; assigned when the run folder was moved."""
        self._unsaved = False
        self.status: RunStatus = replace(
            queued("its keeper has just started", time.time()),
            keeper_pid=keeper_pid,
            keeper_started=start_time(keeper_pid),
            place=place(),
        )
        self._set_aside()
        self._save()

    def started(self, worker_pid: int, gpus: tuple[int, ...], monotonic: float) -> None:
        self.status = replace(self.status, worker_pid=worker_pid, gpus=gpus, started_monotonic=monotonic)

    def started_elsewhere(self, monotonic: float) -> None:
        """Record that a node started the worker at about this time of the monotonic clock here."""
        self.status = replace(self.status, started_monotonic=monotonic)

    def move(self, state: State, reason: str) -> None:
        """Record a change; nothing happens when nothing changed."""
        if (state, reason) != (self.status.state, self.status.reason):
            self.status = self.status.moved_to(state, reason, time.time())
            self._save()

    def flush(self) -> None:
        """Try again what a full disk refused."""
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
