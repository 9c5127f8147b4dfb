"""A command under observation: its own session and folder, output in files, a deadline for each operation,
and a search for processes that it left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mosaic_contract.codec import decode_line
from mosaic_contract.errors import BadLine

_MARKER_VARIABLE = "MOSAIC_CONFORMANCE_PROCESS"
_MAX_OUTPUT_BYTES = 256 << 20  # on stdout, after which a process is stopped
_LOG_LINES = 12
_POLL_SECONDS = 0.05  # between polls: a wait may also end because of the process's output
_SETTLE_SECONDS = 2.0  # helpers of Python's multiprocessing exit shortly after their parent


class ObservedProcess:
    """A context manager that runs the command inside its block; none of its processes survive the block. Its
    stdin is empty, or a pipe with `pipes_input`: `popen.stdin`."""

    def __init__(self, command: Sequence[str], folder: Path, *, pipes_input: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.command = list(command)
        self.stdout_path = folder / "stdout.jsonl"
        self.stderr_path = folder / "stderr.log"
        self.leftovers: list[str] = []
        self.ran = False
        self._stdin = subprocess.PIPE if pipes_input else subprocess.DEVNULL
        self._folder = folder
        self._marker = uuid.uuid4().hex

    def __enter__(self) -> ObservedProcess:
        quiet = {
            "OMP_NUM_THREADS": "1",
            "MPLBACKEND": "Agg",
            "SDL_VIDEODRIVER": "dummy",
            "SDL_AUDIODRIVER": "dummy",
            "PYGAME_HIDE_SUPPORT_PROMPT": "1",
        }
        environ = {**quiet, **os.environ, "SDL_NO_SIGNAL_HANDLERS": "1", _MARKER_VARIABLE: self._marker}
        with self.stdout_path.open("ab") as out, self.stderr_path.open("ab") as err:
            self.popen = subprocess.Popen(
                self.command,
                stdin=self._stdin,
                bufsize=0,
                stdout=out,
                stderr=err,
                cwd=self._folder,
                env=environ,
                start_new_session=True,
            )
        self.ran = True
        return self

    def __exit__(self, *_: object) -> None:
        if self.popen.poll() is None:
            self.signal(signal.SIGKILL)
        self.popen.wait()
        if self.popen.stdin is not None:
            self.popen.stdin.close()
        deadline = time.monotonic() + _SETTLE_SECONDS
        while (pids := self._leftover_pids()) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        self.leftovers = [f"{pid} {_command_of(pid)}" for pid in pids]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    @property
    def code(self) -> int | None:
        """The exit code, None while the process runs; -N if signal N ended it."""
        return self.popen.poll()

    @property
    def ending(self) -> str:
        """The exit code as a sentence."""
        if self.code is None:
            return "still running"
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}"
        return f"exit code {self.code}"

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal to the whole group, as the supervisor does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signum)

    def wait(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Wait for the process to exit or for `until`. Return False if neither happened within `seconds`."""
        deadline = time.monotonic() + seconds
        while self.code is None and not until():
            if time.monotonic() > deadline or self.stdout_path.stat().st_size > _MAX_OUTPUT_BYTES:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def feed(self, data: bytes) -> None:
        """Write the last input, and close stdin."""
        assert self.popen.stdin is not None
        self.popen.stdin.write(data)
        self.popen.stdin.close()

    def lines(self) -> list[bytes]:
        """Return the non-empty lines of stdout so far."""
        with self.stdout_path.open("rb") as file:
            return [line for line in file.read(_MAX_OUTPUT_BYTES).split(b"\n") if line]

    def messages(self) -> list[dict[str, Any]]:
        """Return the JSON objects on stdout so far, without invalid lines."""
        messages = []
        for line in self.lines():
            with contextlib.suppress(BadLine):
                messages.append(decode_line(line))
        return messages

    def log_tail(self) -> str:
        """Return the last lines of stderr."""
        text = self.stderr_path.read_bytes()[-8000:].decode("utf-8", "replace")
        return "\n".join(text.splitlines()[-_LOG_LINES:])

    def _leftover_pids(self) -> list[int]:
        if Path("/proc/self/environ").exists():
            return [int(p.name) for p in Path("/proc").glob("[0-9]*") if self._belongs(p)]
        listing = subprocess.run(
            ["ps", "-A", "-o", "pid=,pgid="], capture_output=True, text=True, timeout=10, check=False
        )
        rows = [row.split() for row in listing.stdout.splitlines()]
        return [int(pid) for pid, group in rows if int(group) == self.popen.pid]

    def _belongs(self, entry: Path) -> bool:
        """Return whether a process is in the command's session, or has its marker among its environment
        variables."""
        try:
            state, _, _, session = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:4]
            if state in (b"Z", b"X"):
                return False
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            return False
        return f"{_MARKER_VARIABLE}={self._marker}".encode() in variables or int(session) == self.popen.pid


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")[:200]
    except OSError:
        return ""
