"""The process of an operator: started, and ended with everything that it started."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract.arena.channels import Incoming, Outgoing

_PIPE_BYTES = 1 << 20  # an image fits in: one switch between the processes, not many
_LOG_BYTES = 4_000


class OperatorProcess:
    """A worker's `--interactive` process in a session of its own, with the variables of `environment` added
    to this process's; its stderr goes to `<folder>/operator-<key>.log`. `seed` is given to it as `--seed`.
    Raises `OSError`, `ValueError` or `TypeError` where it cannot be started."""

    def __init__(self, key: str, spec: Mapping[str, Any], folder: Path, seed: int | None) -> None:
        seeded = [] if seed is None else ["--seed", str(seed)]
        self._log_path = folder / f"operator-{re.sub('[^A-Za-z0-9_.-]', '_', key)[:80]}.log"
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [str(word) for word in spec["command"]] + seeded,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env={**os.environ, **(spec.get("environment") or {})},
                start_new_session=True,
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self.incoming = Incoming(self._process.stdout.fileno())
        self.outgoing = Outgoing(self._process.stdin.fileno())
        with contextlib.suppress(OSError, AttributeError):  # Linux; smaller works as well
            fcntl.fcntl(self.outgoing.descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def how_it_ended(self) -> str:
        """Return how a process whose output has ended did end, in words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        code = self._process.returncode
        if code is None:
            return "has closed its output"
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"has ended with exit code {code}"

    def log_tail(self) -> str:
        try:
            with self._log_path.open("rb") as log:
                log.seek(max(0, os.fstat(log.fileno()).st_size - _LOG_BYTES))
                return log.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def send_stop(self) -> None:
        """Send stop and close its stdin, which means the same."""
        self.outgoing.send(b'{"cmd":"stop"}\n')
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def wait(self, until: float) -> bool:
        """Wait until then (`time.monotonic`) for its end; return whether it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, until - time.monotonic()))
        return self._process.returncode is not None

    def signal(self, signum: signal.Signals) -> None:
        """Signal its whole group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signum)

    def release(self) -> None:
        """Close the remaining pipe."""
        assert self._process.stdout is not None
        self._process.stdout.close()
