"""How runs are displayed in a notebook, for the layers below, which cannot import widgets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from mosaic_lab.errors import MosaicError
from mosaic_lab.runs import Run
from mosaic_lab.widgets.page.shell import notebook_shell

if TYPE_CHECKING:
    from mosaic_lab.widgets.frames.wall import FrameWall

logger = logging.getLogger(__name__)


class NotebookDisplay:
    """Shows runs in the notebook that this process is the kernel of; `Lab` passes one to all its runs.

    Outside a notebook what shows something raises MosaicError, and an end or a removal is nothing to show.
    """

    def frames(
        self, runs: Run | Iterable[Run | Iterable[Run]], fps: float = 30.0, columns: int | None = None
    ) -> FrameWall:
        """Return the wall of the runs' frames, live, see `FrameWall`."""
        if notebook_shell() is None:
            raise MosaicError(
                "frames are watched in a notebook; run.snapshot() and run.record() work anywhere"
            )
        from mosaic_lab.widgets.frames.wall import frame_wall

        return frame_wall(runs, fps, columns)

    def chart(self, runs: Sequence[Run], metric: str) -> None:
        """Show a metric's mean over the runs with its 95% interval, live."""
        if notebook_shell() is None:
            raise MosaicError("a chart needs a notebook's kernel; group.metrics() gives the data anywhere")
        from mosaic_lab.widgets.runs import show_runs

        show_runs(list(runs), alone=False, metric=metric, interval=True)

    def run_ended(self, run: Run) -> None:
        """Fill in the static form of what shows ``run``, once all its runs have ended."""
        if notebook_shell() is None:
            return
        from mosaic_lab.widgets.frames.saved_frames import settle_frames
        from mosaic_lab.widgets.page.shown_panels import settle_panels

        for settle in (settle_panels, settle_frames):
            _attempt(settle, run)

    def run_removed(self, run: Run) -> None:
        """Have what shows ``run`` say that it was removed, and close what shows nothing else."""
        if notebook_shell() is None:
            return
        from mosaic_lab.fastlane.last_frames import forget
        from mosaic_lab.widgets.frames.wall import close_removed
        from mosaic_lab.widgets.page.shown_panels import show_removal

        _attempt(show_removal, run)
        close_removed(run)
        forget(run.path)


def _attempt(update: Callable[[Run], None], run: Run) -> None:
    """Update what shows a run: a form that cannot be made must not cost the user the result."""
    try:
        update(run)
    except Exception:
        logger.exception("The static form of run %s could not be made.", run.id)
