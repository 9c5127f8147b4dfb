"""Frames of runs in a notebook: from the ring in shared memory to canvases in the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mosaic_lab.runs import Run

if TYPE_CHECKING:
    from comm.base_comm import BaseComm

    from mosaic_lab.widgets.page.saved_form import PanelOutput

TARGET = "mosaic_lab.frames"


def register_target() -> None:
    """Let pages open views of frames. The serving code is imported when the first view is opened."""
    import comm

    comm.get_comm_manager().register_target(TARGET, _open)


def reattach(runs: Sequence[Run], settings: Mapping[str, Any], output: PanelOutput) -> None:
    """Show a former kernel's wall again, according to its description."""
    from mosaic_lab.widgets.frames.wall import frame_wall

    frame_wall(runs, settings.get("fps", 30.0), settings.get("columns")).show(output)


def _open(channel: BaseComm, message: Mapping[str, Any]) -> None:
    from mosaic_lab.widgets.frames.frame_stream import frame_stream

    frame_stream().open(channel, message)
