"""The keeper's process: ``python -I -S …/keeper/__main__.py RUN_FOLDER LOCK_DESCRIPTOR CONTRACT_FOLDER``.

A warm worker (`warm_workers.py`) forks keeper, guardian and worker at once; it starts the guardian with
``guard:GRACE`` in place of the descriptor.

It takes over the run folder, moves to the background, and keeps the run. Its interpreter runs isolated and
without site-packages, so it is small, starts in milliseconds and does not depend on anything that the user
may change during the run.

Its parent is the guardian, which ends the processes left behind by a killed keeper (Linux): a process can
drop its initial environment, but not its ancestors. Both keeper and guardian are subreapers, which adopt
orphaned descendants. The guardian only waits for the keeper to end.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

sys.path += [str(Path(__file__).resolve().parents[2]), sys.argv[3]]  # mosaic_lab, mosaic_contract

from mosaic_lab.keeper import processes
from mosaic_lab.keeper.keeper import Keeper, clear_frames
from mosaic_lab.keeper.launch import Launch
from mosaic_lab.keeper.remote_keeper import RemoteKeeper
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.worker_process import KILL_AFTER, READY, ReadyWorker, end_descendants


def main() -> None:
    """Read the launch document, move to the background, and keep the run to its end."""
    folder = RunFolder(Path(sys.argv[1]))
    if sys.argv[2].startswith("guard:"):
        _ignore_stops()
        processes.become_subreaper()
        _outlive(int(os.environ[READY]), folder, float(sys.argv[2].removeprefix("guard:")))
    lock = int(sys.argv[2])
    os.set_inheritable(lock, False)
    launch = Launch.from_json(sys.stdin.read())
    if launch.lifeline is not None:
        os.set_inheritable(launch.lifeline, False)
    ready = ReadyWorker.of_this_process()
    if ready is None and os.fork():
        os._exit(0)  # signals to the parent that the document has arrived; the child still holds the lock
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    if launch.bridge is not None:
        RemoteKeeper(folder, launch, lock).live()
        return
    if ready is None and sys.platform == "linux" and not launch.starts_runs:
        guard(folder, launch, lock)  # a guardian would also end the runs that a worker starts
    Keeper(folder, launch, lock, ready).live()


def guard(folder: RunFolder, launch: Launch, lock: int) -> None:
    """Fork and return in the child, which becomes the keeper. The parent waits for the keeper to end.
    ``lock`` is the descriptor of the run's lock, which only the keeper keeps."""
    _ignore_stops()
    processes.become_subreaper()
    if keeper := os.fork():
        os.close(lock)
        _outlive(keeper, folder, launch.grace_seconds)


def _ignore_stops() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the keeper's handlers replace this


def _outlive(keeper: int, folder: RunFolder, grace: float) -> NoReturn:
    """Wait for the keeper to end, then exit.

    Processes left by a killed keeper get the grace period to end by themselves (the worker got SIGTERM when
    the keeper died) and are then ended. Finally their temporary files and frames are removed.
    """
    if os.waitpid(keeper, 0)[1] != 0:
        end_descendants(_reap, time.sleep, grace, grace + KILL_AFTER)
        shutil.rmtree(folder.scratch_path, ignore_errors=True)
        clear_frames(folder.path)
    os._exit(0)


def _reap() -> bool:
    """Collect all children that have ended. Return False if no child remains."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return True
        except ChildProcessError:
            return False


main()
