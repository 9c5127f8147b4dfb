"""One arena's process, whose pipes carry JSON lines both ways; nothing here waits for it.

The owner calls `ArenaProcess.read` when the output is ready, `flush` when the input is, and `ended` until
that is true. The process is ended with everything that it started.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_contract import LineSplitter, encode_line, fastlane
from mosaic_contract.codec import OPERATING_LINE_LIMIT

from mosaic_lab.keeper import locks, logs, orphans
from mosaic_lab.keeper.environment_variables import RUN_DIR_VARIABLE
from mosaic_lab.keeper.processes import send_group
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.state_writer import StateWriter
from mosaic_lab.keeper.states import Outcome, State

CLOSE_SECONDS = 4.0
"""For an arena to stop its operators and leave, after which all of them are killed; it takes 3 at most."""
_DYING_SECONDS = 0.2  # from the end of a process's output to its own
_LOG_SECONDS = 1.0  # between looks at the size of its logs
_CHUNK = 1 << 16  # what a pipe holds; larger blocks of memory are slow to get


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


class ArenaProcess:
    """``command`` in a session of its own, in the arena's folder, its stderr in ``worker.log`` there.

    Raises OSError when it cannot be started.
    """

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], folder: ArenaFolder) -> None:
        self._folder = folder
        run = folder.run
        with run.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                cwd=run.path,
                env={**variables, RUN_DIR_VARIABLE: str(run.path)},
                start_new_session=True,
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self.input, self.output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self.input, False)
        os.set_blocking(self.output, False)
        self.silent = False
        """Whether its output has ended."""
        self._unsent = bytearray()
        self._splitter = LineSplitter(OPERATING_LINE_LIMIT)
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
        """Return why its output has ended, in words."""
        if self.oversize:
            return "sent a line beyond all bounds"
        try:
            code = self._process.wait(_DYING_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output"
        return f"was killed by signal {-code}" if code < 0 else f"ended (exit code {code})"

    @property
    def unsent(self) -> bool:
        """Whether `flush` has something to send once the input takes it."""
        return bool(self._unsent)

    @property
    def oversize(self) -> int:
        """Lines that were longer than the limit, and are lost."""
        return self._splitter.oversize

    def send_message(self, message: Mapping[str, Any]) -> None:
        """Send a command. Raises LineTooLong or TypeError for what cannot be sent."""
        self.send(encode_line(message, OPERATING_LINE_LIMIT))

    def send(self, line: bytes) -> None:
        """Send an encoded line; a process that is gone gets nothing: the end of its output reports that."""
        if self._unsent:
            self._unsent += line
            return
        try:
            sent = os.write(self.input, line)
        except BlockingIOError:
            sent = 0
        except OSError:
            return
        if sent < len(line):
            self._unsent += line[sent:]

    def flush(self) -> None:
        """Send what the input had no room for."""
        pending = bytes(self._unsent)
        self._unsent.clear()
        self.send(pending)

    def read(self) -> list[bytes] | None:
        """The lines that have come since the last call; None once there will be no more."""
        try:
            data = os.read(self.output, _CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        self.silent = not data
        return self._splitter.feed(data) if data else None

    def cut_logs(self) -> None:
        """Keep its log and those of its operators within bounds; looks every second, however often called."""
        if (now := time.monotonic()) >= self._logs_due:
            self._logs_due = now + _LOG_SECONDS
            for log in self._folder.run.path.glob("*.log"):
                logs.cut(log)

    # ----------------------------------------------------------------- ending

    def leave(self, state: State, reason: str, grace: float = CLOSE_SECONDS) -> None:
        """Ask it to end within ``grace`` seconds; ``state`` and ``reason`` are what its folder will say."""
        if self._kill_at is None:
            self._state, self._reason = state, reason
            self.send(b'{"cmd":"close"}\n')
            self._kill_at = time.monotonic() + grace

    def ended(self) -> bool:
        """Whether it and everything that it started are gone. Kills what stays beyond its time."""
        if not self._reaped:
            if self._process.poll() is None:
                if self._kill_at is not None and time.monotonic() >= self._kill_at:
                    send_group(self.pid, signal.SIGKILL)
                return False
            self._reaped = True
            try:
                threading.Thread(target=self._clear, name="mosaic-arena-end", daemon=True).start()
            except RuntimeError:  # the interpreter is ending, and starts no thread any more
                self._clear()
        if self._cleared.is_set():
            self._close_pipes()
        return self._cleared.is_set()

    def _clear(self) -> None:
        """End the operators that it may have left behind, and its folder: an arena that was closed has ended
        them.
        """
        code = self._process.returncode
        try:
            if code != 0:
                orphans.end(self._folder.run.path, 0)
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
