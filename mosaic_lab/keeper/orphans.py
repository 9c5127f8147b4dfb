"""Find the processes of a run whose keeper was killed: by an environment variable that they were started
with, and below the keeper's guardian.

A pid alone is not reliable. The variable, inherited by all descendants, contains the run folder. psutil
protects its signals against reused pids.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from mosaic_lab.keeper.environment_variables import KEEPER_VARIABLE, RUN_DIR_VARIABLE

_FRESH = 0.5  # seconds before survivors are searched for again, if there are any
_SHARED = 0.1  # seconds for which one search serves all runs; starting and losing a keeper takes longer
_KILL_DEADLINE = 5.0

_lock = threading.Lock()
_searched = float("-inf")  # time of the last search
_marked: dict[tuple[str, str], list[psutil.Process]] = {}  # its result, by variable and run folder
_requested_at: dict[tuple[str, str], float] = {}  # the first request; infinity once none can appear


def survivors(path: Path, variable: str = RUN_DIR_VARIABLE) -> list[psutil.Process]:
    """Return the living processes that carry the variable of the run in ``path``, whose keeper is dead.

    No other process can join them: once a search finds none, the run is not searched again unless it is
    resumed (see `forget`).
    """
    global _searched, _marked
    key = variable, str(path)
    with _lock:
        requested_at = _requested_at.setdefault(key, time.monotonic())
        if requested_at == math.inf:
            return []
        processes = list(filter(_running, _below(_marked, path, variable)))
        if time.monotonic() - _searched > (_FRESH if processes else _SHARED):
            _searched, _marked = time.monotonic(), _all_marked()
            processes = list(filter(_running, _below(_marked, path, variable)))
        if not processes and _searched >= requested_at:
            _requested_at[key] = math.inf
        return processes


def forget(path: Path) -> None:
    """Discard earlier results for a run that is about to have processes again."""
    with _lock:
        for variable in (RUN_DIR_VARIABLE, KEEPER_VARIABLE):
            _requested_at.pop((variable, str(path)), None)


def end(path: Path, grace_seconds: float) -> None:
    """Send SIGTERM to the run's survivors, and SIGKILL to those still alive after the grace period."""
    alive = _search(path, RUN_DIR_VARIABLE)
    for process in alive:
        with suppress(psutil.Error):
            process.terminate()
            process.resume()  # a suspended process receives the signal only then
    psutil.wait_procs(alive, timeout=grace_seconds)
    deadline = time.monotonic() + _KILL_DEADLINE
    while (alive := _search(path, RUN_DIR_VARIABLE)) and time.monotonic() < deadline:
        for process in alive:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(alive, timeout=0.2)


def below(pid: int) -> list[psutil.Process]:
    """Return all living descendants of a process; none if it is gone."""
    with suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def resident_mb(processes: Sequence[psutil.Process]) -> float:
    """Return the total resident memory of these processes in MiB."""
    total = 0
    for process in processes:
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total / (1 << 20)


def _search(path: Path, variable: str) -> list[psutil.Process]:
    return list(filter(_running, _below(_all_marked(), path, variable)))


def _all_marked() -> dict[tuple[str, str], list[psutil.Process]]:
    marked: dict[tuple[str, str], list[psutil.Process]] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            variables = process.environ()
            for variable in (RUN_DIR_VARIABLE, KEEPER_VARIABLE):
                if variable in variables:
                    marked.setdefault((variable, variables[variable]), []).append(process)
    return marked


def _below(
    marked: Mapping[tuple[str, str], list[psutil.Process]], path: Path, variable: str
) -> list[psutil.Process]:
    """Return the processes with the variable of a run and, for its worker, also those below the guardian."""
    processes = list(marked.get((variable, str(path)), ()))
    for keeper in marked.get((KEEPER_VARIABLE, str(path)), ()) if variable == RUN_DIR_VARIABLE else ():
        with suppress(psutil.Error):
            processes += keeper.children(recursive=True)
    return list(dict.fromkeys(processes))


def _running(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
