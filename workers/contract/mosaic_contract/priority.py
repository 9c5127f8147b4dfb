"""The scheduling priority of a process relative to processes of other sessions."""

from __future__ import annotations

import os
import time
from pathlib import Path

_AUTOGROUP = Path("/proc/self/autogroup")
_TRIES, _PAUSE = 5, 0.12  # the kernel accepts one change of any process per tenth of a second
_LESS_PER_LEVEL = 1.25  # on Linux: each level of niceness divides the processor time by this


def scaled_deadline(seconds: float) -> float:
    """Return the deadline of this process for an operation that may take ``seconds`` at normal priority.

    If every core is busy, a process with niceness 10 gets a tenth of the processor time of others: it is
    slow, not stuck.
    """
    return seconds * _LESS_PER_LEVEL ** max(0, os.getpriority(os.PRIO_PROCESS, 0))


def extend_priority_to_session() -> None:
    """Give this process's session the process's own low priority, if it has one.

    With autogroups, Linux divides the processor between sessions; a process's niceness then only matters
    within its own session, and each of our processes has its own session.
    """
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    if niceness <= 0 or not _AUTOGROUP.exists():
        return
    for _ in range(_TRIES):
        try:
            _AUTOGROUP.write_text(str(niceness))
            return
        except BlockingIOError:
            time.sleep(_PAUSE)
        except OSError:  # not permitted here
            return
