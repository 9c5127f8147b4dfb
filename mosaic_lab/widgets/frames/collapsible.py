"""Frames within a panel, initially collapsed to a line.

Collapsing removes the view of frames from the page, which ends its comm: the worker then renders nothing for
it, and the kernel sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import anywidget
import traitlets as t
from ipywidgets import VBox, Widget

from mosaic_lab.runs import Run
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.widget_tree import close_widgets, widgets_stay_on_subshell

if TYPE_CHECKING:
    from mosaic_lab.widgets.frames.wall import FrameWall


class Collapsible(anywidget.AnyWidget):
    """A clickable line that expands and collapses the content below it."""

    _esm = page_code("collapsible.js")

    title = t.Unicode().tag(sync=True)
    text = t.Unicode("", help="shown beside the title while collapsed").tag(sync=True)
    opened = t.Bool(False).tag(sync=True)


class CollapsibleFrames:
    """A collapsible wall of the runs that ``find_runs`` returns when it is expanded.

    If ``find_runs`` raises MosaicError, the wall stays collapsed. ``widgets`` belong below each other in the
    panel.
    """

    def __init__(self, title: str, find_runs: Callable[[], Sequence[Run]]) -> None:
        self.head = Collapsible(title=title)
        self._content = VBox([])
        self._find_runs = find_runs
        self._wall: FrameWall | None = None
        widgets_stay_on_subshell(*self.widgets)

    @property
    def widgets(self) -> list[Widget]:
        return [self.head, self._content]

    def expand(self, on: bool) -> None:
        """Show or hide the frames below the line. Raises the errors of ``find_runs``."""
        if on:
            try:
                wall = self._wall_of(list(self._find_runs()))
            except Exception:
                self.head.opened = False
                raise
        self._content.children = [wall.widget] if on else []

    def hide_unused(self) -> None:
        """Hide the line if it was never expanded: an ended run has no frames to show."""
        if self._wall is None:
            for widget in self.widgets:
                widget.layout.display = "none"

    def close(self) -> None:
        """Close the widgets."""
        if self._wall is not None:
            self._wall.close()
        close_widgets(self.widgets)

    def _wall_of(self, runs: list[Run]) -> FrameWall:
        from mosaic_lab.widgets.frames.wall import FrameWall

        if self._wall is not None and self._wall.runs != runs:
            self._wall.close()
            self._wall = None
        self._wall = self._wall or FrameWall(runs)
        return self._wall
