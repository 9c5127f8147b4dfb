"""The load of a run's GPUs, by nvidia-smi.

The library behind it (NVML) would answer in the keeper's own process, and keep it there when a driver hangs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence

from mosaic_lab.keeper import processes

DEADLINE = 10.0  # seconds for an answer; the first one after a boot loads the driver
PAUSE = 60.0  # seconds without queries after one that failed
_MOST = 1 << 16  # bytes of an answer that are read; one of 16 GPUs has 200
_COMMAND = ("nvidia-smi", "--query-gpu=index,utilization.gpu,memory.used", "--format=csv,noheader,nounits")


class GpuQuery:
    """Queries that are begun, and answered at a later `look`. Without GPUs nothing is ever started.

    ``helpers``: where the pid of a query is while it lives, so that it is not taken for the worker's.
    """

    def __init__(self, gpus: Sequence[int], helpers: set[int]) -> None:
        self.failed = 0
        """Queries without an answer."""
        self._gpus = gpus
        self._helpers = helpers
        self._next = 0.0
        self._deadline = 0.0
        self._answer = b""
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start a query, unless one is under way or the last one failed a short while ago."""
        now = time.monotonic()
        if not self._gpus or self._process is not None or now < self._next:
            return
        try:
            self._process = subprocess.Popen(
                _COMMAND,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        except OSError:
            self._fail()
            return
        self._process.returncode = 0  # the keeper reaps it, with all its children
        self._helpers.add(self._process.pid)
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._answer, self._deadline = b"", now + DEADLINE

    def look(self) -> dict[str, float]:
        """Return ``gpu<i>_percent`` and ``gpu<i>_memory_mb`` once answered; until then nothing."""
        if self._process is None:
            return {}
        assert self._process.stdout is not None
        try:
            while part := os.read(self._process.stdout.fileno(), _MOST):
                self._answer += part
                if len(self._answer) > _MOST:
                    break
        except BlockingIOError:
            if time.monotonic() >= self._deadline:
                self.close()
                self._fail()
            return {}
        self.close()
        values = self._values()
        if not values:
            self._fail()
        return values

    def close(self) -> None:
        """End the query that is under way."""
        if self._process is None:
            return
        if self._process.pid in self._helpers:
            processes.send(self._process.pid, signal.SIGKILL)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None

    def _fail(self) -> None:
        self.failed += 1
        self._next = time.monotonic() + PAUSE

    def _values(self) -> dict[str, float]:
        """The numbers of the run's GPUs; nvidia-smi prints [N/A] for what a GPU does not measure."""
        values = {}
        for line in self._answer.decode("ascii", "replace").splitlines():
            index, *numbers = (field.strip() for field in line.split(","))
            if not index.isdigit() or int(index) not in self._gpus:
                continue
            for name, number in zip(("percent", "memory_mb"), numbers, strict=False):
                if number.replace(".", "", 1).isdigit():
                    values[f"gpu{int(index)}_{name}"] = float(number)
        return values
