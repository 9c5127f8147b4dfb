"""The private hooks into ipykernel: comms that are answered, and a kernel shown as busy, while a cell runs.

Checked on ipykernel 7.1.0, 7.3.0 and 7.4.0, with comm 0.2.3.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from comm.base_comm import BaseComm


def stay_on_subshell(*comms: BaseComm) -> None:
    """Have messages to these comms handled where the page sends them.

    A page sends its widgets' messages to a subshell, a thread that answers while a cell runs. ipykernel 7.4
    sends them to the shell of the comm's last publish instead (``_reply_subshell_for``), which is the main
    one for a widget that a cell made: there they would wait for the running cell to end. Other versions have
    no such hook, and need none.
    """
    for comm in comms:
        if hasattr(comm, "_reply_subshell_for"):
            comm._reply_subshell_for = _where_it_was_sent


def on_message(comm: BaseComm, handle: Callable[[dict[str, Any]], object]) -> None:
    """Have ``handle`` called with each message of the page, and with nothing around it.

    Not ``comm.on_msg``: with it ipykernel runs IPython's hooks around every message, as if a cell had been
    run, and the one of matplotlib shows and closes the figures that a running cell is still drawing.
    """
    comm.handle_msg = handle  # type: ignore[method-assign,assignment]


def _where_it_was_sent(data: object, default: str | None) -> str | None:
    return default


class BusyStatus:
    """Watches which cells of a shell run, and completes what its kernel publishes.

    ipykernel publishes "idle" after each message that a subshell or its control thread has handled, also
    while a cell runs on the main thread; pages show the last status, so a page whose widgets talk to the
    kernel would show it as idle. Here each such "idle" is followed by another "busy".
    """

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
