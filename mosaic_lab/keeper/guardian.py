"""The guardian: the parent of a keeper, which ends what a killed keeper leaves behind (Linux).

A process can drop the environment that it was started with, but not its ancestors: below a subreaper every
orphan becomes its child. The keeper is one, and so is its parent, which only waits for the keeper's end.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from mosaic_lab.keeper import processes
from mosaic_lab.keeper.worker_process import KILL_AFTER, end_descendants


def guard(lock: int, grace_seconds: float, scratch: Path, clear: Callable[[], None]) -> None:
    """Fork: returns in the child, which becomes the keeper. The parent stays until the keeper has ended.

    ``lock`` is the descriptor of the run's lock, which is the keeper's alone. What a killed keeper leaves has
    ``grace_seconds`` to leave by itself (its worker got SIGTERM when the keeper died), then it is ended; at
    last its temporary files in ``scratch`` go, and what `clear` removes.
    """
    if sys.platform != "linux":
        return
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the keeper's handlers replace this
    processes.become_subreaper()
    keeper = os.fork()
    if keeper == 0:
        return
    os.close(lock)
    if os.waitpid(keeper, 0)[1] != 0:
        end_descendants(_reap, time.sleep, grace_seconds, grace_seconds + KILL_AFTER)
        shutil.rmtree(scratch, ignore_errors=True)
        clear()
    os._exit(0)


def _reap() -> bool:
    """Collect every child that has ended. Return False when no child remains."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return True
        except ChildProcessError:
            return False
