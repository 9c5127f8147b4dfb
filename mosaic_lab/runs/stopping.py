"""Ends a run through its keeper, or directly when the keeper is dead; from any state and process."""

from __future__ import annotations

import shutil
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from mosaic_lab.errors import RunTimeout
from mosaic_lab.keeper.environment_variables import KEEPER_VARIABLE
from mosaic_lab.keeper.processes import place, send_to
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import RunStatus, State

if TYPE_CHECKING:
    import psutil

_POLL = 0.025  # seconds between looks while waiting
_MARGIN = 30.0  # beyond the grace period: what ending stray processes and writing the outcome may take


def end(folder: RunFolder, grace: float, wait: bool, reason: str = "") -> bool:
    """SIGTERM to the run's processes, SIGKILL after ``grace`` seconds; return whether its end was waited for.

    ``reason``: why, if that is to be said; it becomes a part of the run's own. Raises RunTimeout when the end
    is to be waited for and does not come.
    """
    status = folder.status()
    if status.state is State.LOST:
        _end_survivors(folder, grace)
        return False
    if status.state.finished:
        return False
    with suppress(OSError):  # a full disk: the signal alone stops with the run's own grace period
        request = {"grace_seconds": grace, "reason": reason, "timestamp": time.time()}
        write_json(folder.stop_path, request)
    _wake_keeper(status)
    if wait:
        _wait(folder, grace)
    return wait


def survivors(folder: RunFolder, status: RunStatus) -> list[psutil.Process]:
    """Return the living processes of a lost run, if it ran on this machine and since its last boot."""
    from mosaic_lab.keeper import orphans

    if status.place not in ("", place()):
        return []
    workers = orphans.survivors(folder.path)
    if folder.path.exists():
        return workers
    return [*workers, *orphans.survivors(folder.path, KEEPER_VARIABLE)]


def _wake_keeper(status: RunStatus) -> None:
    """Signal the keeper, a suspended one too. It finds stop.json within a second without this, so a process
    that may be another one is left alone."""
    if status.keeper_pid is not None and status.place == place():
        with suppress(OSError):
            send_to(status.keeper_pid, status.keeper_started, signal.SIGTERM, signal.SIGCONT)


def _wait(folder: RunFolder, grace: float) -> None:
    deadline = time.monotonic() + grace + _MARGIN
    while not (status := folder.status()).state.finished or (
        status.state is State.LOST and survivors(folder, status)
    ):
        if time.monotonic() > deadline:
            raise RunTimeout(
                f"run {folder.run_id} has not ended {grace + _MARGIN:g} s after stop(): {status.reason}"
            )
        time.sleep(_POLL)


def _end_survivors(folder: RunFolder, grace: float) -> None:
    from mosaic_contract import fastlane

    from mosaic_lab.keeper import orphans

    if folder.path.exists():
        orphans.end(folder.path, grace)
        fastlane.clear(folder.path)
        shutil.rmtree(folder.scratch_path, ignore_errors=True)
    else:  # a deleted folder: its keeper is at it
        _wait(folder, grace)
