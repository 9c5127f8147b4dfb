"""The notebook of this kernel process, if any, and the private hooks into ipykernel.

The hooks answer comms while a cell runs, and show a kernel as busy while one does. They were checked on
ipykernel 7.1.0, 7.3.0 and 7.4.0, with comm 0.2.3.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from comm.base_comm import BaseComm


def ipython_shell() -> Any | None:
    """Return IPython's shell in a terminal or a notebook's kernel, None elsewhere."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    return get_ipython()


def notebook_shell() -> Any | None:
    """Return IPython's shell in a notebook's kernel, None elsewhere."""
    shell = ipython_shell()
    return shell if getattr(shell, "kernel", None) is not None else None


def cell_number() -> int:
    """Return the number of the running cell; 0 outside a notebook."""
    # Not execution_count: some versions of IPython increment it before the cell runs, others after.
    history = getattr(notebook_shell(), "history_manager", None)
    return len(history.input_hist_raw) - 1 if history is not None else 0


def stay_on_subshell(*comms: BaseComm) -> None:
    """Handle messages to these comms on the subshell to which the page sends them.

    A page sends its widgets' messages to a subshell, a thread that answers while a cell runs. ipykernel 7.4
    redirects them to the shell of the comm's last publish (``_reply_subshell_for``). For a widget created by
    a cell this is the main shell, where they would wait for the running cell to end. Other versions have no
    such hook, and need no workaround.
    """
    for comm in comms:
        if hasattr(comm, "_reply_subshell_for"):
            comm._reply_subshell_for = lambda data, default: default


def on_message(comm: BaseComm, handle: Callable[[dict[str, Any]], object]) -> None:
    """Call ``handle`` with each message from the page, bypassing IPython's hooks.

    ``comm.on_msg`` makes ipykernel run IPython's hooks around every message, as if a cell had been executed;
    matplotlib's hook then shows and closes figures that a running cell is still drawing.
    """
    comm.handle_msg = handle  # type: ignore[method-assign,assignment]


_without_status: WeakValueDictionary[str, BaseComm] = WeakValueDictionary()


def publish_no_status(comm: BaseComm) -> None:
    """Do not show the kernel as busy, then idle, for each message to this comm, until it is closed.

    A page draws its tool bar, its tab's icon and its layout again at each change of the status. For the
    acknowledgements of frames, this takes several times as long as drawing the frames. The page must not wait
    for the kernel to be idle after such a message.
    """
    _without_status[comm.comm_id] = comm


class BusyStatus:
    """Tracks the running cells of a shell, and corrects the status published by its kernel.

    ipykernel publishes "idle" after each message handled by a subshell or its control thread, even while a
    cell runs on the main thread. Pages show the last status, so a page whose widgets talk to the kernel would
    show it as idle. This class publishes another "busy" after each such "idle", and publishes neither for
    messages to a comm of `publish_no_status`.
    """

    def __init__(self, shell: Any) -> None:
        kernel = shell.kernel
        self._publish_status = kernel._publish_status
        self._get_parent = kernel.get_parent
        # The "idle" and the "busy" after it are published together: no other thread's "idle" comes between
        # them, and the cell's own comes after both.
        self._lock = threading.Lock()
        parent = kernel.get_parent("shell").get("header", {})
        self._cells = int(parent.get("msg_type") == "execute_request")  # the cell that runs this, if any
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)
        kernel._publish_status = self._publish

    def _publish(self, status: str, channel: str, *args: Any, **kwargs: Any) -> None:
        if self._is_without(self._get_parent(channel)):
            return
        with self._lock:
            self._publish_status(status, channel, *args, **kwargs)
            if status == "idle" and self._cells:
                self._publish_status("busy", channel, *args, **kwargs)

    @staticmethod
    def _is_without(message: Mapping[str, Any]) -> bool:
        """Return whether this message is one for a comm of `publish_no_status`."""
        if message.get("header", {}).get("msg_type") != "comm_msg":
            return False
        return message["content"].get("comm_id") in _without_status

    def _begin(self, info: object) -> None:
        self._count(1)

    def _end(self, result: object) -> None:
        self._count(-1)

    def _count(self, change: int) -> None:
        if threading.current_thread() is threading.main_thread():  # users' cells do not run on subshells
            with self._lock:
                self._cells += change


_status: BusyStatus | None = None


def keep_busy_while_a_cell_runs(shell: Any) -> None:
    """Show the kernel of `shell` as busy while a cell runs. Further calls have no effect."""
    global _status
    if _status is None and hasattr(getattr(shell, "kernel", None), "_publish_status"):
        _status = BusyStatus(shell)
