"""The frames of a run in its panel: folded at first, and nothing but a line until somebody unfolds it.

What crosses this boundary: a run in, widgets for the panel out. Folding takes the view of frames out of the
page, which ends its comm: then the worker renders nothing for it, and the kernel sends nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anywidget
import traitlets as t
from ipywidgets import VBox

from mosaic_lab.runs import Run
from mosaic_lab.widgets.page.closing import close_all
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.subshell import stay_on_subshell

if TYPE_CHECKING:
    from mosaic_lab.widgets.frames.wall import FrameWall


class Fold(anywidget.AnyWidget):
    """A line to click on."""

    _esm = page_code("collapsible.js")

    title = t.Unicode().tag(sync=True)
    opened = t.Bool(False).tag(sync=True)


class FramesFold:
    """The fold of ``run``. ``widgets`` belong below each other in the panel."""

    def __init__(self, run: Run) -> None:
        self.head = Fold(title="Frames")
        self._content = VBox([])
        self._run = run
        self._wall: FrameWall | None = None
        stay_on_subshell(self.widgets)

    @property
    def widgets(self) -> list[Any]:
        return [self.head, self._content]

    def unfold(self, on: bool) -> None:
        """Show the frames below the head, or take them away."""
        if on and self._wall is None:
            from mosaic_lab.widgets.frames.wall import FrameWall

            self._wall = FrameWall(self._run)
        self._content.children = [self._wall.widget] if on and self._wall else []

    def hide_unused(self) -> None:
        """An ended run has no frames for those who have not looked before."""
        if self._wall is None:
            for widget in self.widgets:
                widget.layout.display = "none"

    def close(self) -> None:
        if self._wall is not None:
            self._wall.close()
        close_all(self.widgets)
