"""Live panels of runs with results of their own: a table and plots, read in the background."""

from __future__ import annotations

import logging
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from ipywidgets import VBox, Widget

from mosaic_lab.chart_style import color
from mosaic_lab.evaluation.reports.plot import Plot, plot_picture
from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import duration
from mosaic_lab.runs import Run
from mosaic_lab.runs.kinds import kind_of
from mosaic_lab.widgets.charts.static_chart import stacked
from mosaic_lab.widgets.evaluation.plot_widgets import PlotStack
from mosaic_lab.widgets.frames.collapsible import CollapsibleFrames
from mosaic_lab.widgets.page.panel_widgets import Table
from mosaic_lab.widgets.page.widget_tree import widgets_stay_on_subshell
from mosaic_lab.widgets.runs.following import FollowingPanel
from mosaic_lab.widgets.runs.run_view import RunView
from mosaic_lab.widgets.runs.summary import state_reason

logger = logging.getLogger(__name__)
_SHARE = 0.05  # of the time


class Snapshot(Protocol):
    """The content of a panel."""

    @property
    def table(self) -> dict[str, Any]: ...
    @property
    def plots(self) -> tuple[Plot, ...]: ...


S = TypeVar("S", bound=Snapshot)


class ResultReader(ABC, Generic[S]):
    """Reads the content of a panel in its own thread, at most one reading at a time. ``news`` is called after
    each reading, ``content_name`` names the content in the log."""

    RETRY_SECONDS = 1.0
    """Seconds between a failed reading and the next attempt."""

    def __init__(self, content_name: str, news: Callable[[], None]) -> None:
        self.latest: S | None = None
        self._content_name = content_name
        self._news = news
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._read_at = 0.0

    @abstractmethod
    def read(self) -> S:
        """Read everything now."""

    @abstractmethod
    def read_due(self) -> None:
        """Read what is due now, and set ``_read_at``, the time of the next reading."""

    def read_in_background(self) -> None:
        """Start a reading, unless one is running or it is too early."""
        under_way = self._thread is not None and self._thread.is_alive()
        if not under_way and time.monotonic() >= self._read_at:
            self._thread = threading.Thread(target=self._try, name="mosaic-results", daemon=True)
            self._thread.start()

    def _try(self) -> None:
        try:
            self.read_due()
        except Exception:
            self._read_at = time.monotonic() + self.RETRY_SECONDS
            logger.exception("%s could not be read.", self._content_name)
        self._news()


def next_due(began: float, min_pause: float = 0.0, max_pause: float = math.inf) -> float:
    """Return when to repeat work that began at ``began`` and ends now, so that it takes up at most a
    twentieth of the time. The pause is at least ``min_pause`` and at most ``max_pause`` seconds."""
    now = time.monotonic()
    return now + min(max_pause, max(min_pause, (now - began) / _SHARE))


class ResultPanel(FollowingPanel, Generic[S]):
    """The live panel of one run with results: an evaluation, a sweep. Subclasses arrange its parts."""

    def __init__(self, run: Run, reader: ResultReader[S], frames: CollapsibleFrames | None = None) -> None:
        self.again = f'lab.run("{run.id}") shows this {kind_of(run).name} again'
        self.view = RunView(run, self.title, color(0))
        super().__init__([self.view], frames)
        self.reader = reader
        self.table = Table()
        self.plots = PlotStack()
        self._drawn_plots: tuple[Plot, ...] | None = None

    def arrange(self, *parts: Widget) -> None:
        """Put these parts between header and footer."""
        self.box = VBox([self.header, *parts, self.footer])
        self.box.add_class("mosaic-panel")
        widgets_stay_on_subshell(self.box)

    @abstractmethod
    def facts(self, snapshot: S) -> list[list[str]]:
        """Return the numbers in the header, before the time, each with its name."""

    @abstractmethod
    def progress(self, snapshot: S) -> float | None:
        """Return the progress from 0 to 1; None while it is unknown."""

    def reason(self) -> str:
        """Return the reason of the run's state; that of a failure is in the notices."""
        return state_reason(self.view)

    def snapshot(self) -> S:
        """Return the latest content, read now if there is none."""
        return self.reader.latest or self.reader.read()

    def read_rest(self) -> None:
        self.reader.read()
        self.view.feed.close()

    def static_picture(self) -> bytes | None:
        return stacked([plot_picture(plot) for plot in self.snapshot().plots])

    # ------------------------------------------------------------ drawing

    def draw_content(self) -> None:
        if not self.finished:
            self.reader.read_in_background()
        if (snapshot := self.reader.latest) is None:
            return
        if self.table.table != snapshot.table:
            self.table.table = snapshot.table
        if self._drawn_plots is not snapshot.plots:
            self._drawn_plots = snapshot.plots
            self.plots.draw(snapshot.plots)

    def draw_again(self) -> None:
        self.plots.send_again()

    def summary(self) -> dict[str, Any]:
        state, run, snapshot = self.view.status.state, self.view.run, self.reader.latest
        progress = None if snapshot is None else self.progress(snapshot)
        elapsed = [duration(self.view.elapsed()), "total" if self.finished else "elapsed"]
        return {
            "title": self.title,
            "detail": run.id,
            "again": self.again,
            "state": state,
            "chips": [{"state": state, "text": state}],
            "reason": "" if state in (State.FAILED, State.LOST) else self.reason(),
            "progress": None if progress is None else round(progress, 4),
            "facts": [*([] if snapshot is None else self.facts(snapshot)), elapsed],
            "stop": "" if self.finished else "Stop",
            "store": "",
            "runs": [],
        }
