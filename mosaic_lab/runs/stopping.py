"""End a run, through its keeper or, if that is dead, directly. Works in any state and from any process."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from mosaic_lab.errors import RunTimeout
from mosaic_lab.keeper import locks
from mosaic_lab.keeper.environment_variables import KEEPER_VARIABLE
from mosaic_lab.keeper.processes import place, send_to
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import UNSENT, RunStatus, State

if TYPE_CHECKING:
    import psutil

_POLL = 0.025  # seconds between polls while waiting
_MARGIN = 30.0  # seconds beyond the grace period for ending stray processes and writing the outcome


def end_run(folder: RunFolder, grace: float, wait: bool, reason: str = "", goal: str = "") -> bool:
    """Send SIGTERM to the run's processes and SIGKILL after ``grace`` seconds. Return whether the end was
    awaited.

    ``reason`` is an optional explanation, which becomes part of the run's reason; ``goal`` is the goal that
    the run has reached, by which it counts as completed. Raises RunTimeout if ``wait`` is set and the run
    does not end, at once if its cluster has no head to stop it.
    """
    status = folder.status()
    if status.state is State.LOST:
        _end_survivors(folder, grace)
        return False
    if status.state.finished:
        return False
    with suppress(OSError):  # on a full disk, the signal alone stops the run with its own grace period
        request = {"grace_seconds": grace, "reason": reason, "goal": goal, "timestamp": time.time()}
        write_json(folder.stop_path, request)
    _wake_keeper(status)
    if wait:
        _wait(folder, grace)
    return wait


def add_to_reason(folder: RunFolder, note: str) -> None:
    """Add a note to the reason of a completed run, unless the run is alive again or its state cannot be
    written."""
    deadline = time.monotonic() + _MARGIN
    with suppress(OSError), ExitStack() as held:
        while (lock := locks.take(folder.lock_path)) is None:  # its keeper is about to end
            if not folder.status().state.finished or time.monotonic() > deadline:
                return
            time.sleep(_POLL)
        held.callback(os.close, lock)
        status = folder.status()
        if status.state is State.COMPLETED:
            noted = status.moved_to(status.state, f"{status.reason}; {note}", status.since)
            write_json(folder.state_path, noted.to_dict())


def living_processes(folder: RunFolder, status: RunStatus) -> list[psutil.Process]:
    """Return the living processes of a lost run, if it ran on this machine since its last boot."""
    from mosaic_lab.keeper import orphans

    if status.place not in ("", place()):
        return []
    workers = orphans.survivors(folder.path)
    if folder.path.exists():
        return workers
    return [*workers, *orphans.survivors(folder.path, KEEPER_VARIABLE)]


def _wake_keeper(status: RunStatus) -> None:
    """Signal the keeper, even if it is suspended. It would find stop.json within a second anyway, so a
    process that may be another one is not signalled."""
    if status.keeper_pid is not None and status.place == place():
        with suppress(OSError):
            send_to(status.keeper_pid, status.keeper_started, signal.SIGTERM, signal.SIGCONT)


def _wait(folder: RunFolder, grace: float) -> None:
    deadline = time.monotonic() + grace + _MARGIN
    while not (status := folder.status()).state.finished or (
        status.state is State.LOST and living_processes(folder, status)
    ):
        if UNSENT in status.reason:
            raise RunTimeout(f"run {folder.run_id} has not ended: {status.reason}")
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
    else:  # the folder was deleted, and its keeper is stopping the run
        _wait(folder, grace)
