"""The live panel of a sweep: its progress, its trials, and plots of the hyperparameters."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ipywidgets import VBox

from mosaic_lab.chart_style import color
from mosaic_lab.evaluation.reports.plot import Plot, plot_picture
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import duration, number
from mosaic_lab.sweeps.plots import sweep_plots
from mosaic_lab.sweeps.sweep import Sweep
from mosaic_lab.sweeps.table import Intervals
from mosaic_lab.sweeps.trials import Trial, TrialState
from mosaic_lab.widgets.charts.static_chart import stacked
from mosaic_lab.widgets.evaluation.plot_widgets import PlotFigures
from mosaic_lab.widgets.page.panel_widgets import Table
from mosaic_lab.widgets.page.saved_form import Caption, table_html
from mosaic_lab.widgets.page.widget_tree import widgets_stay_on_subshell
from mosaic_lab.widgets.runs.following import FollowingPanel
from mosaic_lab.widgets.runs.run_view import Notice, RunView, warning
from mosaic_lab.widgets.runs.summary import state_reason
from mosaic_lab.widgets.sweeps.trials_table import states_caption, trials_table

SAVED_ROWS = 20
"""Number of trials in the static form: the best ones."""
LEAST_BETWEEN, MOST_BETWEEN = 1.0, 10.0
"""Limits on the seconds between readings of the trials, and between their plots. The first plots are slow
because of imports; the upper limit keeps them from delaying the next."""
SHARE = 0.05
"""Maximum share of time for reading the trials, and for their plots."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SweepSnapshot:
    """The content of a panel: the trials, their table and, computed less often, their plots."""

    trials: tuple[Trial, ...]
    done: int
    best: Trial | None
    ranked: tuple[Trial, ...]
    table: dict[str, Any]
    plots: tuple[Plot, ...]


class SweepReader:
    """Reads ``sweep``, its own handle, in the background, and calls ``news`` after each reading."""

    def __init__(self, sweep: Sweep, news: Callable[[], None]) -> None:
        self.latest: SweepSnapshot | None = None
        self._sweep = sweep
        self._news = news
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._read_at = self._plot_at = 0.0
        self._plotted: dict[str, Any] = {}
        """The table that the plots were computed for."""
        self._intervals = Intervals(sweep.plan.request.aggregate)

    def read_in_background(self) -> None:
        """Start a reading in its own thread, unless one is running or it is too early."""
        under_way = self._thread is not None and self._thread.is_alive()
        if not under_way and time.monotonic() >= self._read_at:
            self._thread = threading.Thread(target=self._try, name="mosaic-sweep", daemon=True)
            self._thread.start()

    def _try(self) -> None:
        try:
            self.read(plots=time.monotonic() >= self._plot_at)
        except Exception:
            logger.exception("The trials of sweep %s could not be read.", self._sweep.id)
        self._news()

    def read(self, *, plots: bool = True) -> SweepSnapshot:
        """Read the trials now, and compute their ``plots``."""
        with self._lock:
            began, sweep = time.monotonic(), self._sweep
            trials = tuple(sweep.records)
            ranked = tuple(sweep.ranked())
            self.latest = SweepSnapshot(
                trials=trials,
                done=sweep.done,
                best=ranked[0] if ranked else None,
                ranked=ranked,
                table=trials_table(sweep.plan, trials, self._intervals),
                plots=() if self.latest is None else self.latest.plots,
            )
            self._read_at = _due(began)
            if plots and self._plotted != self.latest.table:
                began, self._plotted = time.monotonic(), self.latest.table
                drawn = tuple(sweep_plots(sweep.plan, trials, sweep.importance()))
                self.latest = replace(self.latest, plots=drawn)
                self._plot_at = _due(began)
            return self.latest


def _due(began: float) -> float:
    """Return when to do again what has just been done since ``began``."""
    now = time.monotonic()
    return now + min(MOST_BETWEEN, max(LEAST_BETWEEN, (now - began) / SHARE))


class SweepPanel(FollowingPanel):
    """The live panel of the sweep in ``folder``."""

    def __init__(self, folder: RunFolder) -> None:
        self._sweep = sweep = Sweep(folder)  # its own: a handle serves one reader at a time
        config = sweep.config
        what = " ".join(str(config[name]) for name in ("algorithm", "env_id") if name in config)
        self.title = f"Sweep · {what}"
        self.again = f'lab.run("{sweep.id}") shows this sweep again'
        self._view = RunView(sweep, self.title, color(0))
        super().__init__([self._view])
        self._reader = SweepReader(sweep, self.notify)
        self._drawn: SweepSnapshot | None = None
        self.table = Table()
        self._figures: list[PlotFigures] = []
        self._shapes: list[object] = []
        self._charts = VBox([])
        self.box = VBox([self.header, self._charts, self.table, self.footer])
        self.box.add_class("mosaic-panel")
        widgets_stay_on_subshell(self.box)

    def read_rest(self) -> None:
        self._reader.read()
        self._view.feed.close()

    def draw_again(self) -> None:
        for figures in self._figures:
            figures.send_again()

    def static_caption(self) -> Caption:
        """Return the progress, the best trials and the notices, with the reason of a failure."""
        snapshot = self._reader.latest or self._reader.read()
        text = f"{self._progress(snapshot)}, {self._view.status.state}: {states_caption(snapshot.trials)}"
        rows = [snapshot.table["rows"][trial.number] for trial in snapshot.ranked[:SAVED_ROWS]]
        table = table_html(snapshot.table, rows, 2)
        return Caption(text, table + self.saved_notices())

    def static_picture(self) -> bytes | None:
        snapshot = self._reader.latest or self._reader.read()
        return stacked([plot_picture(plot) for plot in snapshot.plots])

    # ------------------------------------------------------------ drawing

    def draw_content(self) -> None:
        if not self.finished:
            self._reader.read_in_background()
        snapshot = self._reader.latest
        if snapshot is not None and snapshot is not self._drawn:
            drawn, self._drawn = self._drawn, snapshot
            if self.table.table != snapshot.table:
                self.table.table = snapshot.table
            if drawn is None or drawn.plots is not snapshot.plots:
                self._draw_charts(snapshot.plots)

    def _draw_charts(self, plots: Sequence[Plot]) -> None:
        shapes = [_shape(plot) for plot in plots]
        if shapes == self._shapes:
            for figures, plot in zip(self._figures, plots, strict=True):
                figures.draw(plot)
            return
        former, self._shapes = self._figures, shapes
        self._figures = [PlotFigures(plot) for plot in plots]
        self._charts.children = [figures.box for figures in self._figures]
        for figures in former:
            figures.close()

    def summary(self) -> dict[str, Any]:
        snapshot, state = self._reader.latest, self._view.status.state
        facts = []
        if snapshot is not None:
            facts.append([*self._progress(snapshot).rsplit(" ", 1)])
            counts = {} if self.finished else Counter(str(trial.state) for trial in snapshot.trials)
            facts += [[f"{counts[name]:,}", name] for name in ("running", "queued") if name in counts]
            facts += [[number(snapshot.best.value), "best"]] if snapshot.best is not None else []
        facts.append([duration(self._view.elapsed()), "total" if self.finished else "elapsed"])
        return {
            "title": self.title,
            "detail": self._sweep.id,
            "again": self.again,
            "state": state,
            "chips": [{"state": state, "text": state}],
            "reason": "" if state in (State.FAILED, State.LOST) else state_reason(self._view),
            "progress": min(1.0, round(snapshot.done / self._sweep.plan.parts[0], 4)) if snapshot else None,
            "facts": facts,
            "stop": "" if self.finished else "Stop",
            "store": str(self._sweep.path.parent),
            "runs": [self._sweep.id],
        }

    def _progress(self, snapshot: SweepSnapshot) -> str:
        total, what = self._sweep.plan.parts
        return f"{snapshot.done:,} of {total:,} {what}"

    def notices(self) -> list[Notice]:
        notices = super().notices()
        trials = self._reader.latest.trials if self._reader.latest is not None else ()
        failed = [trial for trial in trials if trial.state is TrialState.FAILED]
        if failed:
            count = "1 trial" if len(failed) == 1 else f"{len(failed):,} trials"
            notices.append(warning(f"{count} failed, the last, {failed[-1].number}: {failed[-1].reason}"))
        return notices


def _shape(plot: Plot) -> object:
    """Return a plot's facets and their rows, which decide whether its figures can be reused."""
    return [(facet.title, facet.x_label, facet.rows) for facet in plot.facets]
