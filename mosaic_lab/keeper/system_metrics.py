"""The resources that a run uses, as metrics in its ``system.jsonl``: processor, memory, GPUs, disk.

Samples are 1 to 5 s apart at first, and a 2000th of the run's age from about three hours on: a run of a year
has 20,000. A measurement that cannot be taken or written is counted; the count is in every later line.
"""

from __future__ import annotations

import errno
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
from mosaic_lab.keeper.files import open_for_appending
from mosaic_lab.keeper.processes import Usage
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.tail import progress
from mosaic_lab.keeper.worker_process import Worker

FIRST, TICK = 1.0, 5.0  # seconds between samples, at first and later
THINNING = 2000  # an old run has a sample every so many parts of its age
COST = 0.005  # the part of one core that measuring may take, however many processes there are
SLICE = 0.02  # seconds that one look at the disk may take; some thousand files
_BLOCK = 512  # bytes, whatever the file system's blocks are
LAST_LOOK = 1.0  # seconds that measuring the disk may take when the run has ended
_GPU_COMMAND = (
    "nvidia-smi",
    "--query-gpu=index,utilization.gpu,memory.used",
    "--format=csv,noheader,nounits",
)
_GPU_DEADLINE = 10.0  # seconds for an answer; the first one after a boot loads the driver
_GPU_PAUSE = 60.0  # seconds without queries after one that failed
_GPU_LONGEST = 1 << 16  # bytes of an answer that are read; one of 16 GPUs has 200


class SystemMetrics:
    """The measurements of one worker. Nothing here waits for anything but the disk."""

    def __init__(self, worker: Worker, gpus: Sequence[int]) -> None:
        self._worker = worker
        self._lost = 0
        self._measure_at = self._sample_at = 0.0
        self._cpu_seconds, self._cpu_at = 0.0, worker.started  # of the sample before
        self._progress = {"step": 0, "episode": 0}
        self._disk = DiskUse()
        self._gpus = GpuQuery(gpus, worker.helpers)

    @property
    def missed(self) -> int:
        """Measurements that could not be taken or written."""
        return self._lost + self._gpus.failed

    def look(self, folder: RunFolder) -> None:
        """Take the measurements that are due; write what they, and those begun before, have found."""
        now = time.monotonic()
        values: dict[str, float] = {}
        if now >= self._measure_at:
            used = self._worker.measure()  # each time: the peak of the memory is kept
            pause = min(TICK, max(FIRST, (now - self._worker.started) / 2))
            self._measure_at = now + max(pause, (time.monotonic() - now) / COST)
            if now >= self._sample_at:
                self._sample_at = now + max(pause, (now - self._worker.started) / THINNING)
                values = self._processes(used, now)
                self._disk.begin(folder.path)
                self._gpus.begin()
        self._write(folder, values | self._disk.look() | self._gpus.look())

    def close(self) -> None:
        """End what is under way."""
        self._gpus.close()

    def finish(self, folder: RunFolder) -> None:
        """Write the last line, when all processes have ended: without memory and GPUs."""
        now = time.monotonic()
        values = {}
        if now - self._cpu_at >= FIRST or not self._sample_at:
            values = self._cpu(self._worker.cpu_seconds, now)
        self._disk.begin(folder.path)
        self._write(folder, values | self._disk.look(LAST_LOOK))

    def _processes(self, used: Usage | None, now: float) -> dict[str, float]:
        if used is None:
            self._lost += 1
            return {}
        return {**self._cpu(used.cpu_seconds, now), "memory_mb": used.memory_mb}

    def _cpu(self, seconds: float, now: float) -> dict[str, float]:
        """The mean since the sample before; never negative, though a process may end uncounted."""
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
            _append(folder.system_path, json.dumps(line).encode() + b"\n")
        except OSError:
            self._lost += 1


def _append(path: Path, line: bytes) -> None:
    """Append a line: the whole of it or, on a disk that is full, nothing. Raises OSError."""
    with open_for_appending(path) as file:
        end = file.seek(0, os.SEEK_END)
        if os.write(file.fileno(), line) < len(line):
            file.truncate(end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


class DiskUse:
    """The size of a folder on its disk: `begin` starts a measurement, which every `look` continues."""

    def __init__(self) -> None:
        self._sizes: Iterator[int] | None = None
        self._total = 0

    def begin(self, folder: Path) -> None:
        """Begin a measurement, unless one is under way."""
        if self._sizes is None:
            self._sizes, self._total = _sizes(folder), 0

    def look(self, seconds: float = SLICE) -> dict[str, float]:
        """Return ``disk_mb`` when the measurement is complete now; else nothing."""
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
    """Yield the bytes that each file below the folder takes; links are not followed."""
    waiting = [str(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):  # it has just been removed
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    yield entry.stat(follow_symlinks=False).st_blocks * _BLOCK


class GpuQuery:
    """Queries of nvidia-smi, answered at a later `look`. Without GPUs none is ever started.

    The library behind it (NVML) would answer in the keeper's own process, and keep it there when a driver
    hangs.

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
        self._process.returncode = 0  # the keeper reaps it, with all its children
        self._helpers.add(self._process.pid)
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._answer, self._deadline = b"", now + _GPU_DEADLINE

    def look(self) -> dict[str, float]:
        """Return ``gpu<i>_percent`` and ``gpu<i>_memory_mb`` once answered; until then nothing."""
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
        self._next = time.monotonic() + _GPU_PAUSE

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
