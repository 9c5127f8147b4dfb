"""An arena's process and its pipes, which carry JSON lines in both directions; no method blocks.

`ArenaLoop` reads `ArenaProcess.incoming` when it is readable, pushes `outgoing` when it is writable, and,
after `end`, calls `ended` until it returns true. All processes that the arena started are terminated with it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_contract import encode_line, fastlane
from mosaic_contract.arena.channels import Incoming, Outgoing
from mosaic_contract.codec import OPERATING_LINE_LIMIT
from mosaic_contract.episode_recording import OBSERVATIONS
from mosaic_contract.piped_process import how_it_ended, start_process

from mosaic_lab.keeper import locks, logs, orphans
from mosaic_lab.keeper.environment_variables import RUN_DIR_VARIABLE
from mosaic_lab.keeper.processes import send_group
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.state_writer import StateWriter
from mosaic_lab.keeper.states import Outcome, State

CLOSE_SECONDS = 4.0
"""Seconds for an arena to stop its operators and exit before they are all killed; it needs 3 at most."""
_DYING_SECONDS = 0.2  # from the end of a process's output until its exit
_LOG_SECONDS = 1.0  # between checks of log sizes


class ArenaFolder:
    """A new run folder at ``path``, locked until `end`. Raises OSError if it cannot be created."""

    def __init__(
        self, path: Path, config: Mapping[str, Any], *, worker: str, label: str, command: Sequence[str]
    ) -> None:
        path.mkdir(parents=True)
        self.run = RunFolder(path)
        self._lock = locks.take(self.run.lock_path)
        self._began = time.monotonic()
        launch = {"worker": worker, "label": label, "command": list(command), "created": time.time()}
        try:
            run_fields = {"run_id": self.run.run_id, "run_dir": str(path)}
            write_json(self.run.config_path, {**config, **run_fields})
            write_json(self.run.launch_path, launch)
            self._record = StateWriter(self.run, os.getpid())
            self._record.move(State.STARTING, "its arena is starting")
        except BaseException:
            self._release()
            raise

    def started(self, pid: int) -> None:
        """Record the arena's process id."""
        self._record.started(pid, (), self._began)
        self._record.move(State.RUNNING, "its arena runs")

    def end(self, state: State, reason: str, code: int | None) -> None:
        """Record that all processes have ended; ``code`` as in `subprocess`, None if none was started."""
        if self._lock is None:
            return
        died = code is not None and code < 0
        outcome = Outcome(
            exit_code=None if died else code,
            signal=-code if code is not None and died else None,
            duration_seconds=time.monotonic() - self._began,
        )
        if self.run.path.exists():  # do not recreate a deleted folder
            self._record.finish(state, reason, outcome)
        fastlane.clear(self.run.path)
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class ArenaProcess:
    """A process that runs ``command`` in a session of its own and in the arena's folder, with stderr in
    ``worker.log``. It inherits ``descriptors``. Raises OSError if it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        folder: ArenaFolder,
        descriptors: Collection[int] = (),
    ) -> None:
        self._folder = folder
        run = folder.run
        with run.log_path.open("ab") as log:
            self._process = start_process(
                command,
                stderr=log.fileno(),
                cwd=run.path,
                env={**variables, RUN_DIR_VARIABLE: str(run.path)},
                pass_fds=[*descriptors],
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self.incoming = Incoming(self._process.stdout.fileno())
        self.outgoing = Outgoing(self._process.stdin.fileno())
        os.set_blocking(self.incoming.descriptor, False)
        self._state, self._reason = State.FAILED, "its arena ended"
        self._kill_at: float | None = None
        self._reaped = False
        self._cleared = threading.Event()
        self._logs_due = 0.0
        folder.started(self._process.pid)

    # --------------------------------------------------------------- messages

    @property
    def pid(self) -> int:
        return self._process.pid

    def how_it_ended(self) -> str:
        """Return why the output has ended."""
        if self.incoming.oversize:
            return "sent a line over the size limit"
        return how_it_ended(self._process, _DYING_SECONDS)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message. Raises LineTooLong or TypeError for messages that cannot be sent."""
        self.outgoing.send(encode_line(message, OPERATING_LINE_LIMIT))

    def cut_logs(self) -> None:
        """Truncate the logs of the arena and its operators, at most once per second."""
        if (now := time.monotonic()) >= self._logs_due:
            self._logs_due = now + _LOG_SECONDS
            for log in self._folder.run.path.glob("*.log"):
                logs.cut(log)

    # ----------------------------------------------------------------- ending

    @property
    def ending(self) -> bool:
        """Whether the end was requested."""
        return self._kill_at is not None

    def end(self, state: State, reason: str, grace: float = CLOSE_SECONDS) -> None:
        """Request the end within ``grace`` seconds; record ``state`` and ``reason`` in the folder."""
        if self._kill_at is None:
            self._state, self._reason = state, reason
            self.outgoing.send(b'{"cmd":"close"}\n')
            self._kill_at = time.monotonic() + grace

    def ended(self) -> bool:
        """Return whether the arena and all its processes have ended; kill them after the grace period."""
        if not self._reaped:
            if self._process.poll() is None:
                if self._kill_at is not None and time.monotonic() >= self._kill_at:
                    send_group(self.pid, signal.SIGKILL)
                return False
            self._reaped = True
            try:
                threading.Thread(target=self._clear, name="mosaic-arena-end", daemon=True).start()
            except RuntimeError:  # the interpreter is exiting and starts no more threads
                self._clear()
        if self._cleared.is_set():
            self._close_pipes()
        return self._cleared.is_set()

    def _clear(self) -> None:
        """End the folder, and operators left behind by an arena that did not close normally."""
        code = self._process.returncode
        try:
            if code != 0:
                orphans.end(self._folder.run.path, 0)
                for unfinished in self._folder.run.path.glob(f"{OBSERVATIONS}/*.part"):
                    with suppress(OSError):
                        unfinished.unlink()
        finally:
            try:
                with suppress(OSError):
                    self._folder.end(self._state, self._reason, code)
            finally:
                self._cleared.set()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
