"""The live panel of one or several runs, and the export of its chart's data as CSV."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from ipywidgets import VBox, Widget
from mosaic_contract.config import nearest

from mosaic_lab.chart_style import DOTS_PER_INCH, SAVED_DOTS_PER_INCH, color
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import State
from mosaic_lab.runs import Run
from mosaic_lab.runs.checkpoint_path import continued_run
from mosaic_lab.runs.checkpoints import BACKGROUND
from mosaic_lab.runs.continuation import continuation_of, why_not_continued
from mosaic_lab.runs.curriculum import Curriculum, stage_marks
from mosaic_lab.runs.kinds import as_kind, kind_of
from mosaic_lab.runs.run_labels import common_group, how_to_show_again
from mosaic_lab.sanitize import file_name
from mosaic_lab.table_files import csv_text, write_csv
from mosaic_lab.telemetry.metrics import COMMON_NAMES, default_metric
from mosaic_lab.widgets.charts.chart import Window
from mosaic_lab.widgets.charts.chart_stack import ChartStack
from mosaic_lab.widgets.charts.static_chart import chart_picture, stacked
from mosaic_lab.widgets.frames.collapsible import CollapsibleFrames
from mosaic_lab.widgets.page.background import in_background
from mosaic_lab.widgets.page.panel_widgets import Controls
from mosaic_lab.widgets.page.saved_form import Caption
from mosaic_lab.widgets.page.widget_tree import widgets_stay_on_subshell
from mosaic_lab.widgets.runs.film_strip import CollapsibleFilms, has_films
from mosaic_lab.widgets.runs.following import FollowingPanel
from mosaic_lab.widgets.runs.run_view import (
    ChartContent,
    ChartSettings,
    Notice,
    RunView,
    chart_content,
    info_notice,
    legend_entry,
    panel_metrics,
    run_views,
)
from mosaic_lab.widgets.runs.summary import header_summary, runs_table
from mosaic_lab.widgets.runs.system_charts import SystemCharts

MAX_NOTICES = 8
CATCH_UP_SECONDS = 20.0
"""Time limit for reading the remaining telemetry of all runs when a panel ends."""
_CUT_SHORT = (
    f"not read to the end in {CATCH_UP_SECONDS:.0f} s: the chart stops early, run.metrics() has it all"
)
_SEVERAL_AGENTS = (
    "returns are means over the agents of an episode; comparisons and evaluations show their sum"
)
MAX_BYTES = 8 << 20
"""Maximum size in bytes of data sent to the page; larger exports are written to the runs' folders."""
FILE_NAME = "metrics.csv"
_SHOWN_FALLBACKS: dict[str, str] = {}
"""The workers' fallbacks that this kernel has shown, with the first run of the panel that shows each."""


class RunPanel(FollowingPanel):
    """The live panel of a run or a group.

    ``metric`` is shown first (default: the return). ``interval`` starts with the mean over runs instead of
    one line per run. ``alone`` makes the panel of a single run, with a chart for each metric.
    """

    def __init__(
        self, runs: Sequence[Run], *, alone: bool, metric: str | None = None, interval: bool = False
    ) -> None:
        self.title, views = run_views(runs, alone)
        kind = kind_of(runs[0])
        trains = kind.unit == "steps"
        metric = metric or kind.metric or None
        frames = CollapsibleFrames("Frames", lambda: runs) if alone and trains else None
        super().__init__(views, frames, has_log=alone)
        self.again = how_to_show_again(runs, alone)
        self._alone = alone
        self._drawn_stamp: object = None
        self._notes: list[str] = []
        self._hidden: int | None = 0  # hidden lines, if all are hidden; None while a line is drawn
        self._metric_chosen = metric is not None
        self._charted = runs[0].worker not in BACKGROUND  # the others report no metrics
        self._ended = False  # and its end was drawn
        self.controls = Controls(several=alone, chosen=[metric] if metric else [], interval=interval)
        self.controls.common = list(COMMON_NAMES)
        self.controls.x = "step" if trains else "time"
        self.chart = ChartStack(marked=any(isinstance(as_kind(run), Curriculum) for run in runs))
        self.films = CollapsibleFilms(views[0], self.chart.x_scale) if alone and has_films(runs[0]) else None
        self._stages: dict[str, RunView] = {}
        self.system = SystemCharts(self._at_work)
        folded = [
            widget for part in (self.films, self.frames, self.system) if part for widget in part.widgets
        ]
        self.box = VBox([self.header, self.controls, self.chart.box, *folded, self.footer])
        self.box.add_class("mosaic-panel")
        widgets_stay_on_subshell(self.box, *self.chart.widgets)
        self._observe()

    def close(self) -> None:
        if self.films is not None:
            self.films.close()
        super().close()

    def read_rest(self) -> None:
        deadline = time.monotonic() + CATCH_UP_SECONDS
        for view in self._at_work():
            view.catch_up(max(0.0, deadline - time.monotonic()))
            view.feed.close()

    def draw_again(self) -> None:
        self.chart.send_again()
        self.system.draw_again()
        if self._alone and self._ended:
            in_background(self._show_continuation)

    def widgets_beside(self) -> Iterable[Widget]:
        return [*self.chart.widgets, *self.system.widgets_beside]

    def static_caption(self) -> Caption:
        notes = [notice["text"] for notice in self.notices() if notice["level"] != "error"]
        settings = self._settings()
        notes += [self._instead_of_lines(settings)] if self._misspelt(settings) else []
        return Caption(tables=runs_table(self.views, notes))

    def static_picture(self) -> bytes | None:
        return self._picture(self._settings(), self.chart.full_window)

    # ------------------------------------------------------------ drawing

    def summary(self) -> dict[str, Any]:
        return header_summary(self.views, self.title, self._detail(), self.again, self._at_work())

    def _at_work(self) -> list[RunView]:
        """Return the views of all runs with running processes; for a curriculum, also its stages."""
        for view in self.views:
            by_kind = as_kind(view.run)
            for run in by_kind.stage_runs if isinstance(by_kind, Curriculum) else ():
                if run.id not in self._stages:
                    self._stages[run.id] = RunView(run, run.name, color(len(self._stages) + 1))
        for view in self._stages.values():
            view.read_state()
            view.feed.poll()
        return [*self.views, *self._stages.values()]

    def draw_content(self) -> None:
        if self._alone and self.finished and not self._ended:
            self._ended = True
            self._show_continuation()
        self._choose_metric()
        settings = self._settings()
        counts = [view.feed.count(name) for view in self.views for name in settings.metrics]
        states = [view.status.state for view in self.views]
        stages = [stage_marks(view.run) for view in self.views]
        if (stamp := (settings, counts, states, stages)) != self._drawn_stamp:
            self._drawn_stamp = stamp
            self._draw_chart(settings)
        self.controls.waiting = self._instead_of_lines(settings)
        self.system.draw(settings.x)

    def _draw_chart(self, settings: ChartSettings) -> None:
        content = self._content()
        charts = content.charts(settings)
        self._notes = content.notes
        self.chart.draw(charts, content.x_label, kind=settings.kind, log=settings.log)
        states = {} if self._alone or settings.interval else {v.run.id: v.status.state for v in self.views}
        self.controls.legend = [legend_entry(line, states.get(line.key)) for line in content.lines]
        self._hidden = None if charts else len(content.lines)

    def _instead_of_lines(self, settings: ChartSettings) -> str:
        """Return the text shown in place of a chart without lines; empty if the chart has lines."""
        if self._hidden is None:
            return ""
        if self._hidden:
            return "Every line is hidden: a click on its name above shows it"
        doing = [text for view in self.views if (text := view.doing())]
        if doing and len(doing) == len(self.views):
            return doing[0] if len(doing) == 1 else f"{doing[0]} (the first of {len(doing)} runs)"
        metrics = " or ".join(settings.metrics) or "metrics"
        return f"No {metrics} {'in this run' if self.finished else 'so far'}{self._misspelt(settings)}"

    def _misspelt(self, settings: ChartSettings) -> str:
        """Return the metric that a chosen one may have meant; empty if a chosen one is drawn."""
        names = [] if self._hidden is None else panel_metrics(self.views)
        hints = [nearest(name, names) for name in settings.metrics if name not in names]
        return "".join(hint for hint in hints if hint.endswith("?"))

    def _choose_metric(self) -> None:
        names = panel_metrics(self.views)
        default = default_metric(names)
        self.controls.names = names
        for part in (self.controls, self.chart.box):  # a run that failed early has nothing to draw
            empty = default is None and (self.finished or not self._charted)
            part.layout.display = "none" if empty else None
        if not self._metric_chosen and default is not None:
            self.controls.chosen = [default]

    def _settings(self) -> ChartSettings:
        c: Any = self.controls
        return ChartSettings(tuple(c.chosen), c.x, c.smoothing, c.log_axis, c.interval, frozenset(c.hidden))

    def _content(self) -> ChartContent:
        return chart_content(self.views, self._settings(), self._alone)

    def _detail(self) -> str:
        if self._alone:
            return _origin(self.views[0].run)
        group = common_group([view.run for view in self.views])
        return (f"{group} · " if group else "") + f"{len(self.views)} runs"

    def notices(self) -> list[Notice]:
        notices = super().notices()
        if self.finished and not self._attached and any(view.feed.behind for view in self.views):
            notices.append(info_notice(_CUT_SHORT))
        if any(view.feed.agents > 1 for view in self.views):
            notices.append(info_notice(_SEVERAL_AGENTS))
        notices += map(info_notice, self._fallbacks())
        notices += map(info_notice, self._notes)
        if len(notices) > MAX_NOTICES:
            omitted = len(notices) - MAX_NOTICES + 1
            notices = [*notices[: MAX_NOTICES - 1], info_notice(f"and {omitted} more notices")]
        return notices

    def _fallbacks(self) -> Iterable[str]:
        """Yield the fallbacks of the runs' workers that no other panel shows, and all beside a failure."""
        first, failed = self.views[0].run.id, any(v.status.state is State.FAILED for v in self.views)
        for text in dict.fromkeys(filter(None, (view.run.fallback for view in self.views))):
            if _SHOWN_FALLBACKS.setdefault(text, first) == first or failed:
                yield text

    # ----------------------------------------------------- requests of the page

    def _observe(self) -> None:
        on, controls = self.observe, self.controls
        on(self.system.head, "opened", self.redraw)
        on(self.header, "resumes", lambda _: self._in_thread(self._resume))
        on(controls, "resets", self._on_reset)
        for limit in ("low", "high"):
            on(controls, limit, lambda _: self.chart.limit(self.controls.low, self.controls.high))
        on(controls, "pngs", lambda _: self._in_thread(self._save_png))
        on(controls, "csvs", lambda _: self._in_thread(self._save_csv))
        on(controls, "panning", self.chart.use_panning)
        if self.films is not None:
            on(self.films.head, "opened", self.films.expand)
            on(controls, "x", self.films.follow_axis)
        on(controls, "x", self._redraw_all)
        on(controls, "log_axis", self._redraw_all)
        on(controls, "chosen", self._on_chosen)
        for name in ("smoothing", "interval", "hidden"):
            on(controls, name, self.redraw)

    def _on_reset(self, _: int) -> None:
        self.controls.low = self.controls.high = None
        self.chart.reset()

    def _on_chosen(self, chosen: list[str]) -> None:
        self._metric_chosen = self._metric_chosen or chosen != [default_metric(self.controls.names)]
        self.redraw()

    def _redraw_all(self, _: Any) -> None:
        """Draw and fit the axes again."""
        with self._lock:
            self.chart.reset()
            self.draw()

    def _in_thread(self, action: Callable[[ChartSettings], None]) -> None:
        """Run a slow action in its own thread so that panels stay responsive."""
        threading.Thread(target=self.attempt, args=(action, self._settings()), daemon=True).start()

    def _show_continuation(self) -> None:
        run = self.views[0].run
        newest = continuation_of(run)
        alive = bool(newest) and Run(RunFolder(run.path.parent / newest)).alive
        self.header.continued, self.header.resumable = newest, not (alive or why_not_continued(run))

    def _resume(self, settings: ChartSettings) -> None:
        self.header.resumable = False
        try:
            self.views[0].run.resume()
        finally:
            self._show_continuation()

    def _save_png(self, settings: ChartSettings) -> None:
        png = self._picture(settings, self.chart.window, self.title, "white", SAVED_DOTS_PER_INCH)
        if png is not None:
            self._download(settings, "png", png)

    def _picture(
        self,
        settings: ChartSettings,
        window: Window,
        heading: str = "",
        background: str = "none",
        sharpness: int = DOTS_PER_INCH,
    ) -> bytes | None:
        """Return the charts stacked vertically as PNG; None if nothing is drawn."""
        with self._lock:
            content = self._content()
        return stacked(
            [
                chart_picture(
                    lines,
                    content.x_label,
                    " · ".join(filter(None, (heading, metric, settings.kind))),
                    settings.log,
                    background=background,
                    sharpness=sharpness,
                    window=window,
                )
                for metric, lines in content.charts(settings)
            ]
        )

    def _save_csv(self, settings: ChartSettings) -> None:
        result = complete_csv(self.views, settings.metrics)
        if isinstance(result, str):
            self._download(settings, "csv", result)
        else:
            paths = "\n".join(str(path) for path in result)
            self.show_message("info", f"The data is too large for the browser and was written to\n{paths}")

    def _download(self, settings: ChartSettings, extension: str, data: str | bytes) -> None:
        name = file_name([self.title, *settings.shown_metrics], extension)
        self.controls.download = {"name": name, "data": data}
        self.controls.download = {"name": "", "data": ""}


def _origin(run: Run) -> str:
    """Return a run's id and, if it continues from another run's checkpoint, that run's name and step."""
    parent_id = continued_run(run)
    if parent_id is None:
        return run.id
    folder = run.path.parent / parent_id
    name = Run(RunFolder(folder)).name if folder.is_dir() else parent_id
    step = "" if run.resumed_step is None else f" from step {run.resumed_step:,}"
    return f"{run.id} · continues {name}" + ("" if name == parent_id else f" ({parent_id})") + step


def complete_csv(views: Sequence[RunView], names: Sequence[str], limit: int = MAX_BYTES) -> str | list[Path]:
    """Return all logged values of the metrics as text, or the written files if the text exceeds ``limit``
    bytes. Raises OSError if a file cannot be read or written."""
    texts: list[str] = []
    size = 0
    for view in views:
        texts.append(csv_text(_table(view, names), header=not texts))
        size += len(texts[-1])
        if size > limit:
            return [write_csv(_table(view, names), view.run.path / FILE_NAME) for view in views]
    return "".join(texts)


def _table(view: RunView, names: Sequence[str]) -> pd.DataFrame:
    frame = view.run.metrics()
    frame = frame[frame["name"].isin(names)]
    frame.insert(0, "run", view.run.id)
    frame.insert(1, "seed", view.run.seed)
    return frame
