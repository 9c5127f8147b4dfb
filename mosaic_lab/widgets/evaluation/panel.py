"""The live panel of an evaluation: how far it is, what each operator has got so far, and what went wrong.

What crosses this boundary: an evaluation's folder in, a widget (`EvaluationPanel.box`) and its static form
out. Reading episodes takes a while and happens in a thread of its own; what the page asks for is handled
while a cell runs.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import anywidget
import traitlets as t
from ipywidgets import VBox

from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.reports.plots import Plot
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import State
from mosaic_lab.telemetry import watcher
from mosaic_lab.widgets.charts.chart import color
from mosaic_lab.widgets.charts.formats import duration
from mosaic_lab.widgets.charts.static_chart import stacked
from mosaic_lab.widgets.evaluation.figures import PlotFigures
from mosaic_lab.widgets.evaluation.frames import ArenasFold
from mosaic_lab.widgets.evaluation.pictures import picture
from mosaic_lab.widgets.evaluation.reading import Reader, Reading
from mosaic_lab.widgets.evaluation.rows import rows_html
from mosaic_lab.widgets.page.closing import close_all
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.panel_widgets import Footer, Header
from mosaic_lab.widgets.page.refresh import IDLE_SECONDS, pump
from mosaic_lab.widgets.page.subshell import stay_on_subshell
from mosaic_lab.widgets.page.visibility import Audience
from mosaic_lab.widgets.runs import summary
from mosaic_lab.widgets.runs.run_view import Member, Notice

LOG_LINES = 200
MOST_FAILURES = 5
MOST_STALLS = 3

logger = logging.getLogger(__name__)


class OperatorsTable(anywidget.AnyWidget):
    """``table``: see `rows.operator_rows`."""

    _esm = page_code("operators_table.js")

    table: t.Dict[str, Any] = t.Dict().tag(sync=True)


class EvaluationPanel:
    """What the evaluation in ``folder`` looks like in a notebook. See `mosaic_lab.widgets.runs.panel.Panel`
    for the parts that any panel has."""

    def __init__(self, folder: RunFolder) -> None:
        self._evaluation = evaluation = Evaluation(folder)  # of its own: a handle is read by one at a time
        self.title = f"Evaluation · {evaluation.environment}"
        self.again = f'lab.evaluation("{evaluation.id}") shows this evaluation again'
        self.audience = Audience()
        self._lock = threading.RLock()
        self._reader = Reader(evaluation, lambda: pump().wake(self))
        self._drawn: object = None
        self._unsubscribe: Callable[[], None] | None = None
        self._live = False
        self._said: Notice | None = None
        self._member = Member(evaluation, self.title, color(0))
        self.header, self.table, self.footer = Header(), OperatorsTable(), Footer()
        self._figures: list[PlotFigures] = []
        self._frames = ArenasFold(evaluation)
        self._chart = VBox([])
        self.box = VBox([self.header, self.table, self._chart, *self._frames.widgets, self.footer])
        self.box.add_class("mosaic-panel")
        stay_on_subshell([self.box, self.header, self.table, self._chart, self.footer])
        self._observe()

    # ------------------------------------------------------------------ its life

    def start(self) -> None:
        """Show what is known at once, and follow the evaluation until it ends."""
        with self._lock:
            if self._live:
                return
            self._member.look()
            self._draw()
            if not self.finished:
                self._live = True
                self._follow(True)
                pump().add(self)

    @property
    def finished(self) -> bool:
        """Whether it had ended when last looked at."""
        return self._member.finished

    def settle(self) -> bool:
        """If it has ended: read and draw what is left, and follow no longer. True if so."""
        with self._lock:
            self._member.look()
            if not self.finished:
                return False
        self._reader.read()
        self._member.feed.close()
        with self._lock:
            self._live = False
            pump().remove(self)
            self._follow(False)
            self._draw()
            return True

    def close(self) -> None:
        """Take the widgets back: the page shows the static form in their place."""
        pump().remove(self)
        with self._lock:
            self._live = False
            self._follow(False)
        self._frames.close()
        close_all([self.box])

    on_ended: Callable[[], None] = staticmethod(lambda: None)
    """Called once, on the pump's thread, when it has ended; who hears it has the panel `settle`."""

    def still(self) -> tuple[str, bytes | None]:
        """The static form: the table and what failed as HTML, and the charts as PNG."""
        reading = self._reader.latest or self._reader.read()
        notices = "".join(f"<div>{escape(notice['text'])}</div>" for notice in self._notices())
        told = f" · {self._progress(reading)}, {self._member.status.state}"
        told += f", {reading.spent} spent" if reading.spent else ""
        charts = stacked([picture(plot) for plot in reading.plots if _has_points(plot)])
        return told + rows_html(reading.table) + notices, charts

    # ------------------------------------------------------------ keeping up

    def pace(self) -> float:
        """Seconds that must lie between two ticks when there is news."""
        return min(self.audience.interval(), IDLE_SECONDS)

    def tick(self) -> None:
        """Bring the panel up to date, as far as anybody looks."""
        with self._lock:
            if not self._live:
                return
            self._member.look()
            if self.audience.interval() < math.inf and not self.finished:
                self._reader.aside()
                self._draw()
            ended = self.finished
        if ended:
            pump().remove(self)
            self.on_ended()

    def _follow(self, on: bool) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._unsubscribe = watcher().subscribe(self._member.feed, self._news) if on else None

    def _news(self, _: object) -> None:
        self._member.news_at = time.monotonic()
        pump().wake(self)

    # ------------------------------------------------------------ drawing

    def _draw(self) -> None:
        """Bring every part up to date; what has not changed is not sent."""
        reading = self._reader.latest
        self.header.summary = self._summary(reading)
        self.header.beat += 1
        if reading is not None and reading.plots is not self._drawn:
            self._drawn = reading.plots
            self.table.table = reading.table
            self._draw_charts(reading.plots)
        self.footer.notices = self._notices()
        if self.finished:
            self._frames.hide_unused()
        self.footer.lines = self._evaluation.log(LOG_LINES if self.footer.opened else 1).splitlines()

    def _draw_charts(self, plots: Sequence[Plot]) -> None:
        for figures, plot in zip(self._figures, plots, strict=False):
            figures.draw(plot)
        if new := [PlotFigures(plot) for plot in plots[len(self._figures) :]]:
            self._figures += new
            self._chart.children = [figures.box for figures in self._figures]

    def _summary(self, reading: Reading | None) -> dict[str, Any]:
        """See `mosaic_lab.widgets.runs.summary.header`."""
        state, total = self._member.status.state, self._evaluation.total
        facts = []
        if reading is not None:
            facts.append([*self._progress(reading).rsplit(" ", 1)])
            facts += [[f"{reading.failed:,}", "failed"]] if reading.failed else []
            facts += [[reading.spent, "spent"]] if reading.spent else []
            live = state is State.RUNNING and reading.left is not None
            facts += [[duration(reading.left), "left"]] if live else []
        facts.append([duration(self._member.elapsed()), "in all" if self.finished else "elapsed"])
        told = state in (State.FAILED, State.LOST)  # a notice, in full
        return {
            "title": self.title,
            "detail": self._evaluation.id,
            "again": self.again,
            "state": state,
            "chips": [{"state": state, "text": state}],
            "reason": "" if told else summary.reason(self._member),
            "progress": round(reading.done / total, 4) if reading is not None and total else None,
            "facts": facts,
            "stop": "" if self.finished else "Stop",
        }

    def _progress(self, reading: Reading) -> str:
        return f"{reading.done:,} of {self._evaluation.total:,} episodes"

    def _notices(self) -> list[Notice]:
        found = [self._said] if self._said else []
        found += self._member.notices()
        stalls = self._evaluation.stalls
        found += [{"level": "warning", "text": str(stall)} for stall in stalls[:MOST_STALLS]]
        if len(stalls) > MOST_STALLS:
            found.append({"level": "warning", "text": f"and {_counted(len(stalls) - MOST_STALLS)} more"})
        reading = self._reader.latest
        if reading is not None and reading.damage:
            found.append({"level": "error", "text": reading.damage})
        failures = reading.failures if reading is not None else []
        found += [
            {"level": "warning", "text": f"{_counted(count)} failed: {text}"}
            for text, count in failures[:MOST_FAILURES]
        ]
        if rest := sum(count for _, count in failures[MOST_FAILURES:]):
            found.append({"level": "warning", "text": f"and {_counted(rest)} more failed in other ways"})
        return found

    # ----------------------------------------------------- what the page asks for

    def _observe(self) -> None:
        def on(part: Any, name: str, action: Callable[[Any], None]) -> None:
            part.observe(lambda change: self._handle(action, change["new"]), names=name)

        on(self.header, "presence", self._hear)
        on(self.header, "stops", self._stop)
        on(self.footer, "opened", self._redraw)
        on(self._frames.head, "opened", self._frames.unfold)

    def _handle(self, action: Callable[[Any], None], value: Any) -> None:
        try:
            action(value)
        except (MosaicError, OSError) as error:
            with self._lock:
                self._said = {"level": "error", "text": str(error)}
                self.footer.notices = self._notices()
        except Exception:
            logger.exception("A panel's control failed.")

    def _hear(self, presence: list[Any]) -> None:
        if self.audience.hear(presence):
            for figures in self._figures:
                figures.send_again()
        pump().wake(self)

    def _stop(self, _: int) -> None:
        stopping = {"state": "stopping", "chips": [{"state": "stopping", "text": "stopping"}]}
        self.header.summary = {**self.header.summary, **stopping, "reason": "asked to stop"}
        self._evaluation.stop(wait=False)
        pump().wake(self)

    def _redraw(self, _: Any) -> None:
        with self._lock:
            self._draw()


def _has_points(plot: Plot) -> bool:
    return any(mark.points is not None for facet in plot.facets for mark in facet.marks)


def _counted(episodes: int) -> str:
    return "1 episode" if episodes == 1 else f"{episodes:,} episodes"
