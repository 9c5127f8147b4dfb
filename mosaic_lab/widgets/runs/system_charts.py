"""The resources that a panel's runs use: small charts, initially collapsed to one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from ipywidgets import Box, Layout, Widget

from mosaic_lab.chart_style import color
from mosaic_lab.keeper.events import SYSTEM_PREFIX
from mosaic_lab.number_format import number
from mosaic_lab.overview.curve_model import Floats
from mosaic_lab.widgets.charts.chart import Chart, Line
from mosaic_lab.widgets.frames.collapsible import Collapsible
from mosaic_lab.widgets.page.widget_tree import widgets_stay_on_subshell
from mosaic_lab.widgets.runs.run_view import MAX_LINES, MEMORY, RunView, x_unit

POINTS = 300
"""Points per line, which is a few hundred pixels wide."""


class Quantity(NamedTuple):
    """A chart: a pattern of the names of its metrics, and its labels."""

    pattern: re.Pattern[str]
    label: str
    unit: str
    total: Callable[..., Any]
    """NumPy's sum or mean, ignoring NaN: combines the values of several runs or GPUs."""
    stays: bool = False
    """Whether the chart remains after the run has ended."""


_MEMORY = Quantity(re.compile(MEMORY), "memory", "MB", np.nansum)
QUANTITIES = (
    Quantity(re.compile(r"system/cpu_percent"), "CPU", "% of a core", np.nansum),
    _MEMORY,
    Quantity(re.compile(r"system/disk_mb"), "disk", "MB", np.nansum, stays=True),
    Quantity(re.compile(r"system/gpu\d+_percent"), "GPU", "%", np.nanmean),
    Quantity(re.compile(r"system/gpu\d+_memory_mb"), "GPU memory", "MB", np.nansum),
)


class SystemCharts:
    """A collapsible row of charts; ``widgets`` belong below each other in the panel. Each line is a run, in
    its colour, or one of several GPUs. Nothing is drawn while the row is collapsed."""

    def __init__(self, at_work: Callable[[], Sequence[RunView]]) -> None:
        """``at_work`` returns the runs to include."""
        self.head = Collapsible(title="System")
        self._at_work = at_work
        self._views: Sequence[RunView] = ()
        self._charts: dict[str, Chart] = {}
        self._content = Box([], layout=Layout(flex_flow="row wrap", width="100%"))
        self._drawn_stamp: object = None
        widgets_stay_on_subshell(*self.widgets)

    @property
    def widgets(self) -> list[Widget]:
        return [self.head, self._content]

    @property
    def widgets_beside(self) -> list[Widget]:
        """The widgets of the charts, including collapsed ones."""
        return [widget for chart in self._charts.values() for widget in chart.widgets]

    def draw(self, x: str) -> None:
        """Update the line and, if expanded, the charts."""
        self._views = self._at_work()
        charted = [(quantity, entries) for quantity in QUANTITIES if (entries := self._entries(quantity))]
        self.head.layout.display = None if charted else "none"
        self.head.text = ", ".join(_figure(quantity, entries) for quantity, entries in charted)
        if not self.head.opened:
            self._content.children, self._drawn_stamp = [], None
            return
        counts = [view.feed.count(name) for _, entries in charted for view, name, _ in entries]
        if (x, counts) == self._drawn_stamp:
            return
        self._drawn_stamp = (x, counts)
        scale, x_label = x_unit(self._views, x)
        for quantity, entries in charted:
            lines = []
            for view, name, line_color in entries[:MAX_LINES]:
                steps, values = view.curve(name, x, POINTS)
                lines.append(Line(f"{view.run.id} {name}", name, line_color, (steps / scale, values)))
            self._chart(quantity).draw(lines, x_label)
        self._content.children = [widget for chart in self._charts.values() for widget in chart.parts]

    def draw_again(self) -> None:
        """Send the last update again for a view that has just appeared."""
        for chart in self._charts.values():
            chart.send_again()

    def _chart(self, quantity: Quantity) -> Chart:
        chart = self._charts.get(quantity.label)
        if chart is None:
            chart = self._charts[quantity.label] = Chart(f"{quantity.label}, {quantity.unit}", small=True)
            chart.figure.layout.width = None
            chart.figure.layout.flex = "1 1 280px"
            widgets_stay_on_subshell(*chart.widgets)
        return chart

    def _entries(self, quantity: Quantity) -> list[tuple[RunView, str, str]]:
        """Return the run, the metric's name and the colour of each line."""
        lines = []
        for view in self._views:
            names = [name for name in view.feed.names if name.startswith(SYSTEM_PREFIX)]
            names = sorted(name for name in names if quantity.pattern.fullmatch(name))
            several = len(names) > 1 and len(self._views) == 1
            lines += [(view, name, color(i) if several else view.color) for i, name in enumerate(names)]
        return lines


def _figure(quantity: Quantity, entries: Sequence[tuple[RunView, str, str]]) -> str:
    """Return the current use of live runs or, once all have ended, their peak use."""
    alive = [(view, name) for view, name, _ in entries if not view.finished]
    if alive:
        latest: dict[tuple[str, str], float] = {}
        for view, name in alive:
            latest[source(view, name)] = float(view.feed.pieces(name)[-1].value[-1])
        figure, text = float(quantity.total([*latest.values()])) if latest else 0.0, ""
    else:
        ended, text = [(view, name) for view, name, _ in entries], "up to "
        figure = memory_peak([view for view, _ in ended]) if quantity is _MEMORY else peak(quantity, ended)
    unit = "%" if quantity.unit.startswith("%") else f" {quantity.unit}"
    return f"{quantity.label} {text}{number(figure)}{unit}"


def source(view: RunView, name: str) -> tuple[str, str]:
    """Return the source of a metric: a run or, if runs share it, a whole GPU."""
    shared = name.startswith(f"{SYSTEM_PREFIX}gpu") and not view.run.on
    return ("" if shared else view.run.id, name)


def peak(quantity: Quantity, measured: Sequence[tuple[RunView, str]]) -> float:
    """Return the peak total of a quantity over the runs active at each time."""
    curves = []
    for view, name in measured:
        seconds, values = view.curve(name, "time", POINTS)
        start = (view.span() or (0.0, 0.0))[0]
        curves.append((source(view, name), start + seconds, values))
    all_times = np.unique(np.concatenate([times for _, times, _ in curves]))
    rows: dict[tuple[str, str], Floats] = {}
    for key, times, values in curves:
        active = (all_times >= times[0]) & (quantity.stays | (all_times <= times[-1]))
        current = np.where(active, values[np.searchsorted(times, all_times, "right") - 1], np.nan)
        rows[key] = np.fmax(rows.get(key, current), current)
    return float(np.max(quantity.total(np.array([*rows.values()]), axis=0)))


def memory_peak(views: Sequence[RunView]) -> float:
    """Return the peak memory that the runs used together, in MB; 0 if it was not measured. The recorded peak
    of a run is exact; the curve, measured every few seconds, may have missed it."""
    measured = [(view, MEMORY) for view in views if view.feed.count(MEMORY)]
    together = peak(_MEMORY, measured) if measured else 0.0
    return max(together, *(view.memory_mb() or 0.0 for view in views))
