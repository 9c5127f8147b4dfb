"""For processes that must not outlive whoever started them (operators and arenas; trainings do outlive the
kernel).

A thread watches the parent *process*. Linux' PR_SET_PDEATHSIG is not used on purpose: it fires when the
parent's *thread* that made the child ends, and notebooks start children from threads that come and go.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time

_POLL_SECONDS = 0.5


def watch_parent(parent: int | None = None, *, grace: float = 5.0) -> None:
    """End this process when its parent dies: SIGTERM to itself, and after `grace` seconds SIGKILL.

    `parent` is the process id to watch; give it where the parent could die before this call, otherwise the
    parent at the time of the call is taken.
    """
    pid = os.getppid() if parent is None else parent
    threading.Thread(target=_watch, args=(pid, grace), name="mosaic-parent-watch", daemon=True).start()


def _watch(parent: int, grace: float) -> None:
    _wait_for_death(parent)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace)
    os.kill(os.getpid(), signal.SIGKILL)


def _wait_for_death(parent: int) -> None:
    try:
        descriptor = os.pidfd_open(parent)  # Linux: wakes at once and costs nothing
    except (AttributeError, OSError):
        descriptor = None
    if os.getppid() != parent:  # already dead; checked after the open, so that a reused id is not watched
        return
    if descriptor is not None:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll()
        os.close(descriptor)
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
