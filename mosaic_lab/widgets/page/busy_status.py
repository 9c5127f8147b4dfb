"""A kernel that is shown as busy for as long as a cell runs.

ipykernel publishes "idle" after each message that a subshell or its control thread has handled, also while a
cell runs on the main thread; pages show the last status, so a page whose widgets talk to the kernel would
show it as idle. Here each such "idle" is followed by another "busy".

Checked on ipykernel 7.1.0, 7.3.0 and 7.4.0.
"""

from __future__ import annotations

import threading
from typing import Any


class BusyStatus:
    """Watches which cells of a shell run, and completes what its kernel publishes."""

    def __init__(self, shell: Any) -> None:
        kernel = shell.kernel
        self._publish_status = kernel._publish_status
        # An "idle" and the "busy" after it are published together: no other thread's "idle" comes between,
        # and the cell's own comes after both.
        self._lock = threading.Lock()
        parent = kernel.get_parent("shell").get("header", {})
        self._cells = int(parent.get("msg_type") == "execute_request")  # the cell that runs this, if one does
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)
        kernel._publish_status = self._publish

    def _publish(self, status: str, *args: Any, **kwargs: Any) -> None:
        with self._lock:
            self._publish_status(status, *args, **kwargs)
            if status == "idle" and self._cells:
                self._publish_status("busy", *args, **kwargs)

    def _begin(self, info: object) -> None:
        self._count(1)

    def _end(self, result: object) -> None:
        self._count(-1)

    def _count(self, change: int) -> None:
        if threading.current_thread() is threading.main_thread():  # a subshell's cells are not what users run
            with self._lock:
                self._cells += change


_status: BusyStatus | None = None


def keep_busy_while_a_cell_runs(shell: Any) -> None:
    """Have the kernel of `shell` shown as busy while a cell runs. Does nothing the second time."""
    global _status
    if _status is None and hasattr(getattr(shell, "kernel", None), "_publish_status"):
        _status = BusyStatus(shell)
