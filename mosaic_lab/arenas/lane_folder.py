"""A lane's folder: a run folder whose keeper is this kernel, so that whatever reads runs reads lanes too.

Crosses the boundary: `Keeping`. The lock says that the lane lives; a killed kernel lets go of it, and the
lane is lost, as its processes are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic_contract import fastlane

from mosaic_lab.keeper import locks
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.state_writer import Record
from mosaic_lab.keeper.states import Outcome, State


class Keeping:
    """A new folder at ``path``, kept until `end`. Raises OSError when it cannot be made."""

    def __init__(
        self, path: Path, config: Mapping[str, Any], *, worker: str, label: str, command: Sequence[str]
    ) -> None:
        path.mkdir(parents=True)
        self.folder = RunFolder(path)
        self._lock = locks.take(self.folder.lock_path)
        self._began = time.monotonic()
        launch = {"worker": worker, "label": label, "command": list(command), "created": time.time()}
        try:
            own = {"run_id": self.folder.run_id, "run_dir": str(path)}
            write_json(self.folder.config_path, {**config, **own})
            write_json(self.folder.launch_path, launch)
            self._record = Record(self.folder, os.getpid())
            self._record.move(State.STARTING, "its arena is started")
        except BaseException:
            self._let_go()
            raise

    def started(self, pid: int) -> None:
        """Its arena has process id ``pid``."""
        self._record.started(pid, (), self._began)
        self._record.move(State.RUNNING, "its arena runs")

    def end(self, state: State, reason: str, code: int | None) -> None:
        """Its processes are gone; ``code`` as `subprocess` gives it, None where there was no process."""
        if self._lock is None:
            return
        died = code is not None and code < 0
        outcome = Outcome(
            exit_code=None if died else code,
            signal=-code if code is not None and died else None,
            duration_seconds=time.monotonic() - self._began,
        )
        if self.folder.path.exists():  # a deleted folder must not come back
            self._record.finish(state, reason, outcome)
        fastlane.clear(self.folder.path)
        self._let_go()

    def _let_go(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
