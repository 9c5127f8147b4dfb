"""Charts of selected runs in a cell: the view of the workspace tab, with its own static form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import anywidget
import msgspec
import traitlets as t

from mosaic_lab.arenas.exchange_index import Selection
from mosaic_lab.chart_style import color
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.overview.chart_export import READ_SECONDS, ExportedChart, charts_picture
from mosaic_lab.overview.column_pool import ColumnPool
from mosaic_lab.overview.curve_model import ChartRequest
from mosaic_lab.overview.curves import curves, metric_names
from mosaic_lab.overview.difference import difference
from mosaic_lab.overview.results import whole_row
from mosaic_lab.overview.settings_pictures import (
    PicturedRun,
    differing_names,
    parallel_picture,
    scatter_picture,
)
from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.runs.kinds import as_kind, kind_of
from mosaic_lab.runs.run_names import AnyRuns, find_runs
from mosaic_lab.widgets.overview import serve
from mosaic_lab.widgets.overview.transcript import excerpt
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.saved_form import Caption, SavedForm, html_table
from mosaic_lab.widgets.page.widget_tree import widgets_stay_on_subshell

FIRST_CHARTS = 4
MAX_PICTURED_CHARTS = 12
REST_SECONDS = 2.0
"""Seconds without a change before the picture is drawn again."""
MOMENT_SECONDS = 2.0
"""Seconds that the cell waits for the first picture, which usually takes less than one to draw."""


class WorkspaceView(anywidget.AnyWidget):
    """The workspace on the page; ``state`` is its view state, see `js/src/views/workspace/state.ts`."""

    _esm = page_code("workspace.js")
    _css = page_code("workspace.css")

    store = t.Unicode().tag(sync=True)
    runs: t.List[str] = t.List(t.Unicode()).tag(sync=True)
    state: t.Dict[str, Any] = t.Dict().tag(sync=True)
    visible: t.List[str] | None = t.List(
        t.Unicode(), None, allow_none=True, help="the runs that are neither hidden nor filtered out"
    ).tag(sync=True)


class RunWorkspace:
    """The result of `workspace`: displayed by each cell that returns it."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = list(runs)
        self._pool = ColumnPool()
        root = self._runs[0].path.parent
        serve(root)
        self.view = WorkspaceView(store=str(root), runs=[run.id for run in self._runs])
        widgets_stay_on_subshell(self.view)
        self._saved = SavedForm("Workspace", self._caption, self._picture, on_removed=self.view.close)
        self.view.observe(lambda _: self._saved.update_after(REST_SECONDS), ["state", "visible"])

    def _ipython_display_(self) -> None:
        self._saved.show(self.view, self._saved.add(), update=False)
        # A notebook that runs as a batch ends with this cell.
        self._saved.update_after(0.0).join(MOMENT_SECONDS)

    def _caption(self) -> Caption:
        visible, total = len(self._visible()), len(self._runs)
        runs = "1 run" if total == 1 else f"{total:,} runs"
        return Caption(
            runs if visible == total else f"{visible:,} of {runs}", self._difference() + self._transcript()
        )

    def _picture(self) -> bytes | None:
        state = self.view.state
        view = state.get("view", "charts")
        if view in ("difference", "transcript"):
            return None  # a table, shown in the caption
        if view in ("parallel", "scatter") and (runs := self._pictured(state)):
            names = differing_names(runs)
            if view == "scatter":
                return scatter_picture(runs, state["scatterX"] or (names or ["seed"])[0], state["result"])
            axes = [name for name in state["axes"] or names if name != state["result"]]
            return parallel_picture(runs, [*axes, state["result"]])
        charts = self._charts(state)
        if not charts:
            return None
        curves_by_chart = [curves(chart.runs, chart.request, self._pool, READ_SECONDS) for chart in charts]
        return charts_picture(charts, curves_by_chart, background="none")

    def _pictured(self, state: Mapping[str, Any]) -> list[PicturedRun]:
        color_indices = {run.id: index for index, run in enumerate(self._runs)} | state["colors"]
        return [
            PicturedRun(run, *whole_row(run, self._pool), color(color_indices[run.id]))
            for run in self._visible()
        ]

    def _difference(self) -> str:
        """Return the displayed difference of two runs as HTML; empty if none is shown."""
        state = self.view.state
        if state.get("view") != "difference" or len(self._runs) < 2:
            return ""
        runs = {run.id: run for run in self._runs}
        pair = state["pair"] or list(runs)[:2]
        first, second = (runs.get(run, self._runs[index]) for index, run in enumerate(pair))
        names = [run.name for run in (first, second)]
        titles = names if names[0] != names[1] else [first.id, second.id]
        rows = [
            (row.name, *row.values)
            for section in difference(first, second, self._pool)
            for row in section.rows
            if not row.same
        ]
        return html_table(["", *titles], rows)

    def _transcript(self) -> str:
        """Return an excerpt of the displayed exchanges as HTML; empty if none are shown."""
        state = self.view.state
        evaluations = {run.id: run for run in map(as_kind, self._runs) if isinstance(run, Evaluation)}
        if state.get("view") != "transcript" or not evaluations:
            return ""
        chosen = state["transcript"]
        run = evaluations.get(chosen["run"]) or next(iter(evaluations.values()))
        selection = msgspec.convert(chosen["selection"], Selection)
        return excerpt(replace(run.transcript(), selection=selection)).tables

    def _charts(self, state: Mapping[str, Any]) -> list[ExportedChart]:
        """Return the charts as shown on the page, or the first if there are too many."""
        if not (runs := self._visible()):
            return []
        if state.get("charts") is None:
            names = metric_names(runs, self._pool)[:FIRST_CHARTS]
            return [ExportedChart(runs, ChartRequest(name)) for name in names]
        start, end = state["xLimits"]
        grouped = state["groupBy"]
        if grouped is not None:
            runs = sorted(runs, key=lambda run: run.id)  # groups are numbered from the oldest run's
        run_colors = {run: color(index) for run, index in state["colors"].items()} if grouped is None else {}
        return [
            ExportedChart(
                runs,
                ChartRequest(
                    chart["metric"],
                    state["x"],
                    start,
                    end,
                    smoothing=state["smoothing"],
                    outliers=state["outliers"],
                    group_by=None if grouped is None else tuple(grouped),
                    log_x=state["xLog"],
                    log_y=chart["yLog"],
                    low=chart["yLimits"][0],
                    high=chart["yLimits"][1],
                    colors=run_colors,
                ),
            )
            for chart in state["charts"][:MAX_PICTURED_CHARTS]
        ]

    def _visible(self) -> list[Run]:
        """Return the runs that the page shows; all runs until the page has reported them."""
        visible = self.view.visible
        return self._runs if visible is None else [run for run in self._runs if run.id in visible]


def workspace(runs: AnyRuns) -> RunWorkspace:
    """Return the workspace tab's charts of ``runs``, for display in a cell.

    ``runs``: a run, a group, or any runs of one run store, or their names; a sweep stands for its trials. The
    notebook keeps a picture of the charts. Raises ConfigurationError for no runs, and for runs of several run
    stores, and UnknownRun for a name without a run.
    """
    chosen = find_runs(runs)
    if not chosen:
        raise ConfigurationError("a workspace needs at least one run")
    stores = {run.path.parent for run in chosen}
    if len(stores) > 1:
        listed = ", ".join(map(str, sorted(stores)))
        raise ConfigurationError(f"a workspace shows runs of one run store, not of {len(stores)}: {listed}")
    return RunWorkspace(charted_runs(chosen))


def charted_runs(chosen: Sequence[Run]) -> list[Run]:
    """Return the runs to chart, with a sweep replaced by its trials; runs without curves are omitted unless
    there are no others.

    `chartedRuns` in `js/src/views/workspace/state.ts` does the same.
    """
    charted: dict[str, Run] = {}
    for run in chosen:
        if kind_of(run).name == "sweep":
            store = Supervisor(run.path.parent)
            charted |= {trial.id: trial for trial in store.runs() if trial.sweep == run.id}
        elif kind_of(run).name in ("training", "script"):
            charted.setdefault(run.id, run)
    return list(charted.values()) or list(chosen)
