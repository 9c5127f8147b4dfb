"""Keeping a panel's messages on the subshell that the page sends them to.

What crosses this boundary: widgets in; nothing out. A page sends its widgets' messages to a subshell, a
thread that answers while a cell runs. ipykernel 7.4 sends them to the shell of the comm's last publish
instead, which is the main one for a widget made in a cell: there they would wait for the running cell to end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def stay_on_subshell(widgets: Iterable[Any]) -> None:
    """Have the messages of these widgets handled where the page sends them, on kernels that would not."""
    for widget in widgets:
        comm = widget.comm
        if hasattr(comm, "_reply_subshell_for"):
            comm._reply_subshell_for = _where_it_was_sent


def _where_it_was_sent(data: object, default: str | None) -> str | None:
    return default
