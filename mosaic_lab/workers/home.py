"""Locations of worker environments on disk, and the lock between installers.

    <home>/workers/<name>/environment.json      the current environment: written last, replaced atomically
    <home>/workers/<name>/<unique>/venv         its virtual environment
    <home>/workers/<name>/<unique>/freeze.txt   its exact versions
    <home>/locks/<name>                         locked (flock) while the folder above is changed

``<home>`` is the user's data folder, or ``MOSAIC_LAB_HOME``. Folders that ``environment.json`` does not
reference are leftovers of killed installers, or older environments still used by runs. They are never used,
and a later installation removes them.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs
from mosaic_contract.stdio import reserve_standard_streams

from mosaic_lab.errors import WorkerEnvironmentError

ProgressCallback = Callable[[str], object]
"""A function that is called with one short line of progress."""

_POLL_SECONDS = 0.2


def home() -> Path:
    """Return the folder of all data that mosaic_lab keeps for this user (overridden by
    ``MOSAIC_LAB_HOME``)."""
    chosen = os.environ.get("MOSAIC_LAB_HOME")
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_data_path("mosaic-lab")


def workers_home() -> Path:
    return home() / "workers"


def worker_folder(name: str) -> Path:
    return workers_home() / name


@contextmanager
def installer_lock(name: str, progress: ProgressCallback, timeout: float) -> Iterator[int]:
    """Hold the lock of worker ``name``; wait at most ``timeout`` seconds for another installer.

    Yields the lock's descriptor. A uv process that inherits it keeps the lock if its installer is killed, so
    that no other installer runs beside a uv that still writes. Raises WorkerEnvironmentError if the other
    installer does not finish in time.
    """
    reserve_standard_streams()
    path = home() / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _acquire(descriptor, name, progress, timeout)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, name: str, progress: ProgressCallback, timeout: float) -> None:
    started = time.monotonic()
    announced = False
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not announced:
                progress(f"another installer is at work on worker '{name}': waiting for it")
            announced = True
        if time.monotonic() - started > timeout:
            raise WorkerEnvironmentError(
                f"Another installer has been at work on worker '{name}' for more than {timeout:.0f} s. "
                "Wait for it, or end that process, and try again."
            )
        time.sleep(_POLL_SECONDS)
