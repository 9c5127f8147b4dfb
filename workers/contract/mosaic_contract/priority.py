"""The scheduling priority of a process relative to processes of other sessions."""

from __future__ import annotations

import os
import time
from pathlib import Path

_AUTOGROUP = Path("/proc/self/autogroup")
_TRIES, _PAUSE = 5, 0.12  # the kernel takes a change of any process once in a tenth of a second
_LESS_PER_LEVEL = 1.25  # of Linux: how much less processor time a process gets for each level of niceness


def stretched(seconds: float) -> float:
    """Return the deadline of this process for what may take ``seconds`` at the usual priority.

    Where every core is busy, a process of niceness 10 gets a tenth of the time that others get: it is slow,
    not stuck.
    """
    return seconds * _LESS_PER_LEVEL ** max(0, os.getpriority(os.PRIO_PROCESS, 0))


def extend_priority_to_session() -> None:
    """Give this process's session the low priority that the process has, if it has one.

    Where Linux has autogroups, it shares the processor between sessions; a process's niceness then counts
    within its own session only, and each of our processes has a session of its own.
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
