"""Kills of a sweep's process, of which its trials take no notice."""

from __future__ import annotations

import os
import random
import signal
from contextlib import suppress

from support import wait_until

from mosaic_lab.sweeps import Sweep


def killed(sweep: Sweep, generator: random.Random) -> None:
    """SIGKILL to the sweep's process, or to its keeper and so to both, at a random moment."""
    wait_until(lambda: sweep.finished or sweep.status.worker_pid)
    with suppress(AssertionError):
        wait_until(lambda: sweep.finished, timeout=generator.uniform(0.0, 1.2))
    status = sweep.status
    pid = status.worker_pid if generator.random() < 0.7 else status.keeper_pid
    if not sweep.finished and pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: sweep.finished)
