"""A run's resource use (processor, memory, GPUs, disk) as metrics in its ``system.jsonl``.

Samples are 1 to 5 s apart at first and, after about three hours, 1/2000 of the run's age apart: a run of a
year has 20,000. Measurements that could not be taken or written are counted, and each later line contains the
count.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mosaic_lab.keeper import processes
from mosaic_lab.keeper.events import METRICS, SYSTEM_PREFIX
from mosaic_lab.keeper.files import append_line
from mosaic_lab.keeper.processes import ProcessUsage
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.tail import progress
from mosaic_lab.keeper.worker_process import WorkerProcess

FIRST, TICK = 1.0, 5.0  # seconds between samples, initially and later
THINNING = 2000  # the interval of an old run is its age divided by this
COST = 0.005  # maximum fraction of a core for measuring, for any number of processes
SLICE = 0.02  # maximum seconds per disk measurement step, enough for some thousand files
_BLOCK = 512  # bytes, independent of the file system's block size
LAST_LOOK = 1.0  # maximum seconds for measuring the disk after the end of the run
_GPU_COMMAND = (
    "nvidia-smi",
    "--query-gpu=index,utilization.gpu,memory.used",
    "--format=csv,noheader,nounits",
)
_GPU_DEADLINE = 10.0  # seconds to answer; the first query after a boot loads the driver
_GPU_PAUSE = 60.0  # seconds without queries after a failed one
_GPU_LONGEST = 1 << 16  # maximum bytes of an answer; 16 GPUs need 200


class SystemMetrics:
    """The measurements of one worker. Only the disk is accessed synchronously."""

    def __init__(self, worker: WorkerProcess, gpus: Sequence[int]) -> None:
        self._worker = worker
        self._lost = 0
        self._measure_at = self._sample_at = 0.0
        self._cpu_seconds, self._cpu_at = 0.0, worker.started  # of the previous sample
        self._progress = {"step": 0, "episode": 0}
        self._disk = DiskUse()
        self._gpus = GpuQuery(gpus, worker.helpers)

    @property
    def missed(self) -> int:
        """Number of measurements that could not be taken or written."""
        return self._lost + self._gpus.failed

    def look(self, folder: RunFolder) -> None:
        """Start the measurements that are due and write all results available now."""
        now = time.monotonic()
        values: dict[str, float] = {}
        if now >= self._measure_at:
            usage = self._worker.measure()  # at every call, to track the memory peak
            pause = min(TICK, max(FIRST, (now - self._worker.started) / 2))
            self._measure_at = now + max(pause, (time.monotonic() - now) / COST)
            if now >= self._sample_at:
                self._sample_at = now + max(pause, (now - self._worker.started) / THINNING)
                values = self._processes(usage, now)
                self._disk.begin(folder.path)
                self._gpus.begin()
        self._write(folder, values | self._disk.look() | self._gpus.look())

    def close(self) -> None:
        """End a running GPU query."""
        self._gpus.close()

    def finish(self, folder: RunFolder) -> None:
        """Write the last line after all processes have ended, without memory and GPUs."""
        now = time.monotonic()
        values = {}
        if now - self._cpu_at >= FIRST or not self._sample_at:
            values = self._cpu(self._worker.cpu_seconds, now)
        self._disk.begin(folder.path)
        self._write(folder, values | self._disk.look(LAST_LOOK))

    def _processes(self, usage: ProcessUsage | None, now: float) -> dict[str, float]:
        if usage is None:
            self._lost += 1
            return {}
        return {**self._cpu(usage.cpu_seconds, now), "memory_mb": usage.memory_mb}

    def _cpu(self, seconds: float, now: float) -> dict[str, float]:
        """Return the mean since the previous sample; never negative, though a process may end uncounted."""
        spent, span = seconds - self._cpu_seconds, now - self._cpu_at
        self._cpu_seconds, self._cpu_at = seconds, now
        return {"cpu_percent": 100 * max(0.0, spent) / max(span, 0.001)}

    def _write(self, folder: RunFolder, values: dict[str, float]) -> None:
        if not values:
            return
        for name, value in progress(folder.telemetry_path).items():
            self._progress[name] = max(self._progress[name], value)
        payload = {
            **self._progress,
            "values": {SYSTEM_PREFIX + name: round(value, 2) for name, value in values.items()},
            "missed": self.missed,
        }
        line = {"event": METRICS, "run_id": folder.run_id, "timestamp": time.time(), "payload": payload}
        try:
            append_line(folder.system_path, json.dumps(line).encode())
        except OSError:
            self._lost += 1


class DiskUse:
    """The disk space used by a folder. `begin` starts a measurement, each `look` continues it."""

    def __init__(self) -> None:
        self._sizes: Iterator[int] | None = None
        self._total = 0

    def begin(self, folder: Path) -> None:
        """Start a measurement unless one is running."""
        if self._sizes is None:
            self._sizes, self._total = _sizes(folder), 0

    def look(self, seconds: float = SLICE) -> dict[str, float]:
        """Return ``disk_mb`` if the measurement is complete, else an empty dictionary."""
        if self._sizes is None:
            return {}
        deadline = time.monotonic() + seconds
        for size in self._sizes:
            self._total += size
            if time.monotonic() >= deadline:
                return {}
        self._sizes = None
        return {"disk_mb": self._total / (1 << 20)}


def _sizes(folder: Path) -> Iterator[int]:
    """Yield the disk space in bytes of each file below the folder. Links are not followed."""
    waiting = [str(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):  # just removed
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    yield entry.stat(follow_symlinks=False).st_blocks * _BLOCK


class GpuQuery:
    """Queries of nvidia-smi, whose answers arrive at a later `look`. Without GPUs, none is started.

    NVML, the library behind it, would run in the keeper's own process and block it if a driver hangs.

    ``helpers``: contains the pid of a running query, so that it is not counted as the worker's.
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
        """Start a query unless one is running or the last one failed recently."""
        now = time.monotonic()
        if not self._gpus or self._process is not None or now < self._next:
            return
        try:
            self._process = subprocess.Popen(
                _GPU_COMMAND,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        except OSError:
            self._fail()
            return
        self._process.returncode = 0  # the keeper reaps it with all its children
        self._helpers.add(self._process.pid)
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._answer, self._deadline = b"", now + _GPU_DEADLINE

    def look(self) -> dict[str, float]:
        """Return ``gpu<i>_percent`` and ``gpu<i>_memory_mb`` once answered, else an empty dictionary."""
        if self._process is None:
            return {}
        assert self._process.stdout is not None
        try:
            while part := os.read(self._process.stdout.fileno(), _GPU_LONGEST):
                self._answer += part
                if len(self._answer) > _GPU_LONGEST:
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
        """End the running query."""
        if self._process is None:
            return
        if self._process.pid in self._helpers:
            processes.send(self._process.pid, signal.SIGKILL)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None

    def _fail(self) -> None:
        self.failed += 1
        self._next = time.monotonic() + _GPU_PAUSE

    def _values(self) -> dict[str, float]:
        """Return the values of the run's GPUs. nvidia-smi prints [N/A] for those a GPU does not measure."""
        values = {}
        for line in self._answer.decode("ascii", "replace").splitlines():
            index, *numbers = (field.strip() for field in line.split(","))
            if not index.isdigit() or int(index) not in self._gpus:
                continue
            for name, number in zip(("percent", "memory_mb"), numbers, strict=False):
                if number.replace(".", "", 1).isdigit():
                    values[f"gpu{int(index)}_{name}"] = float(number)
        return values
