"""The live panel of an evaluation: how far it is, what each operator has got so far, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
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
from mosaic_lab.number_format import duration
from mosaic_lab.runs import Run
from mosaic_lab.widgets.charts.chart import color
from mosaic_lab.widgets.charts.static_chart import stacked
from mosaic_lab.widgets.evaluation.operator_table import rows_html
from mosaic_lab.widgets.evaluation.plot_picture import picture
from mosaic_lab.widgets.evaluation.plot_widgets import PlotFigures
from mosaic_lab.widgets.evaluation.snapshot_reader import Reader, Reading
from mosaic_lab.widgets.frames.collapsible import CollapsibleFrames
from mosaic_lab.widgets.page.kernel_comms import stay_on_subshell
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.saved_form import Caption
from mosaic_lab.widgets.runs.following import FollowingPanel
from mosaic_lab.widgets.runs.run_view import Notice, RunView
from mosaic_lab.widgets.runs.summary import state_reason

MOST_FAILURES = 5
MOST_STALLS = 3


class OperatorsTable(anywidget.AnyWidget):
    """``table``: see `rows.operator_rows`."""

    _esm = page_code("operators_table.js")

    table: t.Dict[str, Any] = t.Dict().tag(sync=True)


class EvaluationPanel(FollowingPanel):
    """The live panel of the evaluation in ``folder``."""

    def __init__(self, folder: RunFolder) -> None:
        self._evaluation = evaluation = Evaluation(folder)  # of its own: a handle is read by one at a time
        self.title = f"Evaluation · {evaluation.environment}"
        self.again = f'lab.evaluation("{evaluation.id}") shows this evaluation again'
        self._view = RunView(evaluation, self.title, color(0))
        frames = CollapsibleFrames("Frames of the arenas that play now", self._arenas)
        super().__init__([self._view], frames)
        self._reader = Reader(evaluation, self.notify)
        self._drawn: object = None
        self.table = OperatorsTable()
        self._figures: list[PlotFigures] = []
        self._chart = VBox([])
        self.box = VBox([self.header, self.table, self._chart, *frames.widgets, self.footer])
        self.box.add_class("mosaic-panel")
        stay_on_subshell([self.box, self.header, self.table, self._chart, self.footer])

    def read_rest(self) -> None:
        self._reader.read()
        self._view.feed.close()

    def draw_again(self) -> None:
        for figures in self._figures:
            figures.send_again()

    def static_caption(self) -> Caption:
        """Return the progress, the table, and what failed."""
        reading = self._reader.latest or self._reader.read()
        text = f"{self._progress(reading)}, {self._view.status.state}"
        text += f", {reading.spent} spent" if reading.spent else ""
        notices = "".join(f"<div>{escape(notice['text'])}</div>" for notice in self.notices())
        return Caption(text, rows_html(reading.table) + notices)

    def static_picture(self) -> bytes | None:
        reading = self._reader.latest or self._reader.read()
        return stacked([picture(plot) for plot in reading.plots if _has_points(plot)])

    def _arenas(self) -> list[Run]:
        """Return the arenas that play now. Raises MosaicError for none."""
        if not (playing := [arena for arena in self._evaluation.arenas if arena.alive]):
            raise MosaicError("no arena plays at this moment: there are no frames to see")
        return playing

    # ------------------------------------------------------------ drawing

    def draw_content(self) -> None:
        if not self.finished:
            self._reader.read_in_background()
        reading = self._reader.latest
        if reading is not None and reading.plots is not self._drawn:
            self._drawn = reading.plots
            self.table.table = reading.table
            self._draw_charts(reading.plots)

    def _draw_charts(self, plots: Sequence[Plot]) -> None:
        for figures, plot in zip(self._figures, plots, strict=False):
            figures.draw(plot)
        if new := [PlotFigures(plot) for plot in plots[len(self._figures) :]]:
            self._figures += new
            self._chart.children = [figures.box for figures in self._figures]

    def summary(self) -> dict[str, Any]:
        reading = self._reader.latest
        state, total = self._view.status.state, self._evaluation.total
        facts = []
        if reading is not None:
            facts.append([*self._progress(reading).rsplit(" ", 1)])
            facts += [[f"{reading.failed:,}", "failed"]] if reading.failed else []
            facts += [[reading.spent, "spent"]] if reading.spent else []
            live = state is State.RUNNING and reading.left is not None
            facts += [[duration(reading.left), "left"]] if live else []
        facts.append([duration(self._view.elapsed()), "total" if self.finished else "elapsed"])
        in_notices = state in (State.FAILED, State.LOST)
        return {
            "title": self.title,
            "detail": self._evaluation.id,
            "again": self.again,
            "state": state,
            "chips": [{"state": state, "text": state}],
            "reason": "" if in_notices else state_reason(self._view),
            "progress": round(reading.done / total, 4) if reading is not None and total else None,
            "facts": facts,
            "stop": "" if self.finished else "Stop",
        }

    def _progress(self, reading: Reading) -> str:
        return f"{reading.done:,} of {self._evaluation.total:,} episodes"

    def notices(self) -> list[Notice]:
        found = super().notices()
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


def _has_points(plot: Plot) -> bool:
    return any(mark.points is not None for facet in plot.facets for mark in facet.marks)


def _counted(episodes: int) -> str:
    return "1 episode" if episodes == 1 else f"{episodes:,} episodes"
