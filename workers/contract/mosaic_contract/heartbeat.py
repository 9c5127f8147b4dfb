"""A thread that periodically reports that the worker is alive, its progress and its resource usage."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from mosaic_contract.telemetry import Telemetry

DEFAULT_INTERVAL = 5.0
"""Seconds between two heartbeats."""
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Heartbeats:
    """A context manager that sends a heartbeat at once, then every `interval` seconds until the end of the
    block."""

    def __init__(self, telemetry: Telemetry, interval: float = DEFAULT_INTERVAL) -> None:
        self._telemetry = telemetry
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="mosaic-heartbeats", daemon=True)

    def __enter__(self) -> Heartbeats:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=1.0)

    def _beat(self) -> None:
        pid, previous_time = os.getpid(), time.monotonic()
        usage = usage_of_tree(pid)
        self._telemetry.heartbeat(usage.memory_mb, 0.0)
        while not self._stop.wait(self._interval):
            previous, usage = usage, usage_of_tree(pid)
            elapsed, previous_time = time.monotonic() - previous_time, time.monotonic()
            cpu_seconds = max(0.0, usage.cpu_seconds - previous.cpu_seconds)
            self._telemetry.heartbeat(usage.memory_mb, 100.0 * cpu_seconds / elapsed)


@dataclass(frozen=True)
class Usage:
    """Resident memory in MiB (shared pages count in each process); CPU seconds, reaped children included."""

    memory_mb: float
    cpu_seconds: float


def usage_of_tree(pid: int) -> Usage:
    """Return the current usage of `pid` and its descendants; processes that have ended do not count."""
    if Path("/proc/self/stat").exists():
        return _from_proc(pid)
    return _from_ps(pid)


def _from_proc(root: int) -> Usage:
    memory = cpu = 0.0
    pending = [root]
    while pending:
        pid = pending.pop()
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            for task in Path(f"/proc/{pid}/task").iterdir():
                pending += map(int, (task / "children").read_bytes().split())
        except OSError:
            continue
        cpu += sum(map(int, stat[11:15])) / _TICKS_PER_SECOND  # utime, stime, cutime, cstime
        memory += int(stat[21]) * _PAGE_BYTES / 2**20
    return Usage(memory, cpu)


def _from_ps(root: int) -> Usage:
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,rss=,time="], capture_output=True, text=True, timeout=10, check=False
    ).stdout
    rows = {int(row[0]): row[1:4] for row in map(str.split, listing.splitlines()) if len(row) == 4}
    tree, generation = set(), {root}
    while generation:
        tree |= generation
        generation = {pid for pid, row in rows.items() if int(row[0]) in generation} - tree
    usages = [rows[pid] for pid in tree if pid in rows]
    return Usage(sum(int(row[1]) for row in usages) / 2**10, sum(_seconds(row[2]) for row in usages))


def _seconds(cpu_time: str) -> float:
    days, _, time_text = cpu_time.rpartition("-")
    seconds = 0.0
    for part in time_text.split(":"):
        seconds = seconds * 60 + float(part)
    return seconds + 86400 * int(days or 0)
