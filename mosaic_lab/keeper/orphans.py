"""Finding the processes of a run whose keeper was killed: by a mark that its worker was started with, and
below the keeper's guardian.

A pid alone proves nothing; the mark in a process's environment, passed on to whatever it starts, names the
run folder. psutil guards its signals against a pid that was given out again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from mosaic_lab.keeper.marks import KEEPER_MARK, WORKER_MARK

_FRESH = 0.5  # seconds for which survivors that were found are not searched for again
_KILL_DEADLINE = 5.0

_lock = threading.Lock()
_found: dict[tuple[Path, str], tuple[float, list[psutil.Process]]] = {}


def survivors(path: Path, mark: str = WORKER_MARK) -> list[psutil.Process]:
    """Living processes that carry the mark of the run in ``path``, whose keeper is dead.

    None can join from outside: once there are none there never will be (unless the run is resumed, see
    `forget`), and no search is made again.
    """
    with _lock:
        if (path, mark) in _found:
            searched, processes = _found[path, mark]
            if not processes:
                return []
            processes = [process for process in processes if _running(process)]
            if processes and time.monotonic() - searched < _FRESH:
                return processes
        processes = _search(path, mark)
        _found[path, mark] = (time.monotonic(), processes)
        return processes


def forget(path: Path) -> None:
    """The run is about to have processes again: what was found, or not found, counts no more."""
    with _lock:
        for key in [key for key in _found if key[0] == path]:
            del _found[key]


def end(path: Path, grace_seconds: float) -> None:
    """SIGTERM to the run's survivors, SIGKILL to those that are still there after the grace period."""
    alive = _search(path, WORKER_MARK)
    for process in alive:
        with suppress(psutil.Error):
            process.terminate()
            process.resume()  # a suspended one receives the signal only then
    psutil.wait_procs(alive, timeout=grace_seconds)
    deadline = time.monotonic() + _KILL_DEADLINE
    while (alive := _search(path, WORKER_MARK)) and time.monotonic() < deadline:
        for process in alive:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(alive, timeout=0.2)


def below(pid: int) -> list[psutil.Process]:
    """All living descendants of a process; none when it is gone."""
    with suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def resident_mb(processes: Sequence[psutil.Process]) -> float:
    """Resident memory of these processes together, MiB."""
    total = 0
    for process in processes:
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total / (1 << 20)


def _search(path: Path, mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            variables = process.environ()
            if variables.get(mark) == str(path) and _running(process):
                found.append(process)
            if mark == WORKER_MARK and variables.get(KEEPER_MARK) == str(path):
                found += filter(_running, process.children(recursive=True))
    return list(dict.fromkeys(found))


def _running(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
