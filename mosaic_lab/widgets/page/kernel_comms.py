"""Comms whose messages are handled while a cell runs.

Private hooks into ipykernel are here and in `busy_status`.

Checked on ipykernel 7.1.0, 7.3.0 and 7.4.0, with comm 0.2.3.
"""

from __future__ import annotations

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
