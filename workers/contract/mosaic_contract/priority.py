"""The priority of a process among those of other sessions."""

from __future__ import annotations

import os
import time
from pathlib import Path

_AUTOGROUP = Path("/proc/self/autogroup")
_TRIES, _PAUSE = 5, 0.12  # the kernel takes a change of any process once in a tenth of a second


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
