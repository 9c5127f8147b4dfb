"""The fold of an evaluation's panel below which its arenas are watched.

What crosses this boundary: an evaluation in, widgets for the panel out. Unfolding shows the arenas that play
at that moment; folding takes the view out of the page, and nothing is rendered for it any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ipywidgets import VBox

from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.widgets.frames.collapsible import Fold
from mosaic_lab.widgets.page.closing import close_all
from mosaic_lab.widgets.page.subshell import stay_on_subshell

if TYPE_CHECKING:
    from mosaic_lab.widgets.frames.wall import FrameWall


class ArenasFold:
    """The fold of ``evaluation``. ``widgets`` belong below each other in the panel."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.head = Fold(title="Frames of the arenas that play now")
        self._content = VBox([])
        self._evaluation = evaluation
        self._wall: FrameWall | None = None
        stay_on_subshell(self.widgets)

    @property
    def widgets(self) -> list[Any]:
        return [self.head, self._content]

    def unfold(self, on: bool) -> None:
        """Show the frames of the arenas that play now, or take them away. Raises MosaicError for none."""
        self._content.children = []
        if self._wall is not None:
            self._wall.close()
            self._wall = None
        if not on:
            return
        from mosaic_lab.widgets.frames.wall import FrameWall

        playing = [arena for arena in self._evaluation.arenas if arena.alive]
        if not playing:
            self.head.opened = False
            raise MosaicError("no arena plays at this moment: there are no frames to see")
        self._wall = FrameWall(playing)
        self._content.children = [self._wall.widget]

    def hide_unused(self) -> None:
        """Nothing plays any more: there are no frames for those who have not looked before."""
        if self._wall is None:
            for widget in self.widgets:
                widget.layout.display = "none"

    def close(self) -> None:
        if self._wall is not None:
            self._wall.close()
        close_all(self.widgets)
