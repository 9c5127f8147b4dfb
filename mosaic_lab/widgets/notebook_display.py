"""The display of runs in a notebook, for lower layers, which cannot import widgets."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from IPython.display import DisplayHandle

from mosaic_lab.errors import MosaicError
from mosaic_lab.number_format import duration
from mosaic_lab.runs import Run
from mosaic_lab.runs.isolation import isolated
from mosaic_lab.runs.kinds import as_kind
from mosaic_lab.runs.run_names import AnyRuns
from mosaic_lab.widgets.page.kernel import notebook_shell

if TYPE_CHECKING:
    from mosaic_lab.widgets.frames.wall import FrameWall

logger = logging.getLogger(__name__)


class NotebookDisplay:
    """Shows runs in the notebook of this kernel process; `Lab` passes a display to all its runs. Outside a
    notebook, showing anything raises MosaicError, and ends and removals are ignored."""

    def frames(self, runs: AnyRuns, fps: float = 30.0, columns: int | None = None) -> FrameWall:
        """Return a live wall of the runs' frames, see `FrameWall`."""
        if notebook_shell() is None:
            raise MosaicError(
                "frames can be watched only in a notebook; run.snapshot() and run.record() work anywhere"
            )
        from mosaic_lab.widgets.frames.wall import frame_wall

        return frame_wall(runs, fps, columns)

    def chart(self, runs: Sequence[Run], metric: str) -> None:
        """Show a metric's mean over the runs with its 95% interval, live."""
        if notebook_shell() is None:
            raise MosaicError("a chart needs a notebook's kernel; group.metrics() gives the data anywhere")
        from mosaic_lab.widgets.runs import show_runs

        show_runs(list(runs), alone=False, metric=metric, interval=True)

    def waiting(self, runs: Sequence[Run]) -> Callable[[bool], None]:
        """Return a function that shows the line of awaited runs, see `progress`."""
        return self.progress(partial(_waiting_line, runs))

    def progress(self, text: Callable[[], str]) -> Callable[[bool], None]:
        """Return a function that shows the current text in one line. A notebook updates it at most once a
        second; elsewhere it is printed to standard error every half minute."""
        return (PrintedLine if notebook_shell() is None else ProgressLine)(text).show

    def run_ended(self, run: Run) -> None:
        """Complete the static form of panels that show ``run``, once all their runs have ended."""
        if notebook_shell() is None:
            return
        from mosaic_lab.widgets.frames.saved_frames import settle_frames
        from mosaic_lab.widgets.page.panel_outputs import settle_panels

        for settle in (settle_panels, settle_frames):
            _attempt(settle, run)

    def run_continued(self, run: Run) -> None:
        """Update panels of ``run`` to show which run continues it."""
        if notebook_shell() is None:
            return
        from mosaic_lab.widgets.page.panel_outputs import draw_again

        _attempt(draw_again, run)

    def run_removed(self, run: Run) -> None:
        """Show in panels that ``run`` was removed; close those that show no other run."""
        if notebook_shell() is None:
            return
        from mosaic_lab.fastlane.source import forget
        from mosaic_lab.widgets.frames.wall import close_removed
        from mosaic_lab.widgets.page.panel_outputs import show_removal

        _attempt(show_removal, run)
        close_removed(run)
        forget(run.path)


class ProgressLine:
    """One line of a cell's output that shows the progress of what the cell waits for."""

    interval = 1.0
    """Seconds between two updates, and before the first; a shorter wait shows no line."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._next_update = time.monotonic() + ProgressLine.interval
        self._is_displayed = False
        self._handle = DisplayHandle()

    def show(self, ended: bool) -> None:
        """Show the current progress, unless the line was updated recently. The end is shown if there is a
        line."""
        now = time.monotonic()
        if now < self._next_update and not (self._is_displayed and ended):
            return
        self._next_update = now + self.interval
        self._write(self._text())
        self._is_displayed = True

    def _write(self, text: str) -> None:
        bundle = {"text/plain": text}
        if self._is_displayed:
            self._handle.update(bundle, raw=True)
        else:
            self._handle.display(bundle, raw=True)


class PrintedLine(ProgressLine):
    """The progress of what a script waits for, in its output."""

    interval = 30.0

    def _write(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def _waiting_line(runs: Sequence[Run]) -> str:
    """Return how many of several ``runs`` have ended, and the progress of the first that has not."""
    waited = [run for run in runs if not run.finished]
    parts = [f"{len(runs) - len(waited)} of {len(runs)} runs have ended"] if len(runs) > 1 else []
    for run in waited[:1] if parts else runs:
        parts.append(f"run {run.id}: {isolated(partial(_progress_line, run), str)}")
    return "; ".join(parts)


def _progress_line(run: Run) -> str:
    elapsed = run.elapsed
    doing = as_kind(run).progress_text or run.waits_for
    facts = (str(run.state), doing, "" if elapsed is None else duration(elapsed))
    return ", ".join(fact for fact in facts if fact)


def _attempt(update: Callable[[Run], None], run: Run) -> None:
    """Update a panel. A failure to draw is logged, because it must not cost the user the result."""
    try:
        update(run)
    except Exception:
        logger.exception("The static form of run %s could not be made.", run.id)


@contextmanager
def installation_log() -> Iterator[Callable[[str], None]]:
    """Provide a function that shows a line of an installation's progress.

    In a notebook the lines are one output of the cell, which collapses at the end of the block and stays open
    after an error. Anywhere else they are printed.
    """
    if notebook_shell() is None:
        yield print
        return
    from mosaic_lab.widgets.page.saved_form import new_id, publish

    lines: list[str] = []
    output = new_id()

    def display(opened: bool) -> None:
        text = "\n".join(lines)
        last, full_text = (escape(part, quote=False) for part in (lines[-1].strip(), text))
        html = (
            f"<details{' open' * opened}><summary>Installation: {last}</summary>"
            f'<pre style="max-height:16em;overflow:auto">{full_text}</pre></details>'
        )
        first = opened and len(lines) == 1
        publish({"text/html": html, "text/plain": text}, output, update=not first)

    def add(line: str) -> None:
        lines.append(line)
        display(opened=True)

    yield add
    if lines:
        display(opened=False)
