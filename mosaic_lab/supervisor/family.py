"""Finding the processes of a run whose keeper was killed, by a mark that its worker was started with.

Crosses the boundary: `survivors`, `end`. A pid alone proves nothing; the mark in a process's environment,
passed on to whatever it starts, names the run folder. psutil guards its signals against a pid that was given
out again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

WORKER_MARK = "MOSAIC_RUN_DIR"
KEEPER_MARK = "MOSAIC_KEEPER_OF"
_FRESH = 0.5  # seconds for which one look at all processes serves every lost run

_lock = threading.Lock()
_seen: dict[tuple[str, str], list[psutil.Process]] = {}
_seen_at = float("-inf")


def survivors(path: Path, mark: str = WORKER_MARK) -> list[psutil.Process]:
    """Living processes that carry the mark of the run in ``path``."""
    global _seen, _seen_at
    with _lock:
        if time.monotonic() - _seen_at > _FRESH:
            _seen = _look()
            _seen_at = time.monotonic()
        marked = _seen.get((mark, str(path)), [])
    return [process for process in marked if _running(process)]


def end(path: Path, grace_seconds: float) -> None:
    """SIGTERM to the run's survivors, SIGKILL to those that are still there after the grace period."""
    _forget()
    processes = survivors(path)
    for process in processes:
        with suppress(psutil.Error):
            process.terminate()
    _gone, alive = psutil.wait_procs(processes, timeout=grace_seconds)
    deadline = time.monotonic() + 5
    while alive and time.monotonic() < deadline:
        for process in alive:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(alive, timeout=0.2)
        _forget()
        alive = survivors(path)  # anything that was started meanwhile, too


def resident_mb(processes: Sequence[psutil.Process]) -> float:
    """Resident memory of these processes together, MiB."""
    total = 0
    for process in processes:
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total / (1 << 20)


def _look() -> dict[tuple[str, str], list[psutil.Process]]:
    found: dict[tuple[str, str], list[psutil.Process]] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            environment = process.environ()
            for mark in (WORKER_MARK, KEEPER_MARK):
                if mark in environment:
                    found.setdefault((mark, environment[mark]), []).append(process)
    return found


def _forget() -> None:
    global _seen_at
    with _lock:
        _seen_at = float("-inf")


def _running(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
