"""Frames of runs in a notebook: from the ring in shared memory to canvases in the page.

What crosses this boundary: `register_target`, after which pages can open views of frames by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comm.base_comm import BaseComm

TARGET = "mosaic_lab.frames"


def register_target() -> None:
    """Have this kernel's pages find their frames. What serves them is imported when the first one asks."""
    import comm

    comm.get_comm_manager().register_target(TARGET, _open)


def _open(channel: BaseComm, message: Mapping[str, Any]) -> None:
    from mosaic_lab.widgets.frames.stream import stream

    stream().open(channel, message)
