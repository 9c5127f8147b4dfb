"""An arena's folder: a run folder whose keeper is this process, so that whatever reads runs reads arenas too.

Its lock says that the arena is alive. A process that is killed releases it, and the arena is lost.
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
from mosaic_lab.keeper.state_writer import StateWriter
from mosaic_lab.keeper.states import Outcome, State


class ArenaFolder:
    """A new run folder at ``path``, locked until `end`. Raises OSError when it cannot be made."""

    def __init__(
        self, path: Path, config: Mapping[str, Any], *, worker: str, label: str, command: Sequence[str]
    ) -> None:
        path.mkdir(parents=True)
        self.run = RunFolder(path)
        self._lock = locks.take(self.run.lock_path)
        self._began = time.monotonic()
        launch = {"worker": worker, "label": label, "command": list(command), "created": time.time()}
        try:
            own = {"run_id": self.run.run_id, "run_dir": str(path)}
            write_json(self.run.config_path, {**config, **own})
            write_json(self.run.launch_path, launch)
            self._record = StateWriter(self.run, os.getpid())
            self._record.move(State.STARTING, "its arena is starting")
        except BaseException:
            self._release()
            raise

    def started(self, pid: int) -> None:
        """Record that the arena has process id ``pid``."""
        self._record.started(pid, (), self._began)
        self._record.move(State.RUNNING, "its arena runs")

    def end(self, state: State, reason: str, code: int | None) -> None:
        """Record that its processes are gone; ``code`` as in `subprocess`, None where there was no
        process."""
        if self._lock is None:
            return
        died = code is not None and code < 0
        outcome = Outcome(
            exit_code=None if died else code,
            signal=-code if code is not None and died else None,
            duration_seconds=time.monotonic() - self._began,
        )
        if self.run.path.exists():  # a deleted folder must not come back
            self._record.finish(state, reason, outcome)
        fastlane.clear(self.run.path)
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
