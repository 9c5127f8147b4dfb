"""What the runs of a panel cost their machine: small charts, collapsed at first to a line with the latest."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ipywidgets import Box, Layout, Widget

from mosaic_lab.chart_style import color
from mosaic_lab.keeper.events import SYSTEM_PREFIX
from mosaic_lab.number_format import number
from mosaic_lab.telemetry.series import Axis
from mosaic_lab.widgets.charts.chart import Chart, Line
from mosaic_lab.widgets.frames.collapsible import Collapsible
from mosaic_lab.widgets.page.widget_tree import widgets_stay_on_subshell
from mosaic_lab.widgets.runs.run_chart import MOST_LINES, x_unit
from mosaic_lab.widgets.runs.run_view import RunView

POINTS = 300
"""Of a line, which is a few hundred pixels wide."""


class Quantity(NamedTuple):
    """A chart: which metrics it draws, by a pattern of their names, and how it is labelled."""

    pattern: re.Pattern[str]
    label: str
    unit: str
    total: Callable[[Sequence[float]], float]
    """How the numbers of several runs or GPUs become the one in the collapsed line."""


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


QUANTITIES = (
    Quantity(re.compile(r"system/cpu_percent"), "CPU", "% of a core", sum),
    Quantity(re.compile(r"system/memory_mb"), "memory", "MB", sum),
    Quantity(re.compile(r"system/disk_mb"), "disk", "MB", sum),
    Quantity(re.compile(r"system/gpu\d+_percent"), "GPU", "%", _mean),
    Quantity(re.compile(r"system/gpu\d+_memory_mb"), "GPU memory", "MB", sum),
)


class SystemCharts:
    """A collapsible row of charts; ``widgets`` belong below each other in the panel.

    A line is a run, in its colour, or one of several GPUs. Nothing is drawn while it is collapsed.
    """

    def __init__(self, views: Sequence[RunView]) -> None:
        self.head = Collapsible(title="System")
        self._views = views
        self._charts: dict[str, Chart] = {}
        self._content = Box([], layout=Layout(flex_flow="row wrap", width="100%"))
        self._drawn: object = None
        widgets_stay_on_subshell(*self.widgets)

    @property
    def widgets(self) -> list[Widget]:
        return [self.head, self._content]

    @property
    def widgets_beside(self) -> list[Widget]:
        """The widgets of the charts, also of those that are collapsed now."""
        return [widget for chart in self._charts.values() for widget in chart.widgets]

    def draw(self, x: Axis) -> None:
        """Bring the line, and the charts where they are expanded, up to date."""
        found = [(one, entries) for one in QUANTITIES if (entries := self._entries(one))]
        self.head.layout.display = None if found else "none"
        self.head.text = ", ".join(_latest(one, entries) for one, entries in found)
        if not self.head.opened:
            self._content.children, self._drawn = [], None
            return
        counts = [view.feed.series[name].count for _, entries in found for view, name, _ in entries]
        if (x, counts) == self._drawn:
            return
        self._drawn = (x, counts)
        scale, x_label = x_unit(self._views, x)
        for one, entries in found:
            lines = []
            for view, name, line_color in entries[:MOST_LINES]:
                steps, values = view.feed.series[name].view(x, POINTS)
                lines.append(Line(f"{view.run.id} {name}", name, line_color, (steps / scale, values)))
            self._chart(one).draw(lines, x_label)
        self._content.children = [widget for chart in self._charts.values() for widget in chart.parts]

    def draw_again(self) -> None:
        """Send once more what a view that has just appeared may have missed."""
        for chart in self._charts.values():
            chart.send_again()

    def _chart(self, one: Quantity) -> Chart:
        chart = self._charts.get(one.label)
        if chart is None:
            chart = self._charts[one.label] = Chart(f"{one.label}, {one.unit}", small=True)
            chart.figure.layout.width = None
            chart.figure.layout.flex = "1 1 280px"
            widgets_stay_on_subshell(*chart.widgets)
        return chart

    def _entries(self, one: Quantity) -> list[tuple[RunView, str, str]]:
        """The run, the metric's name and the colour of each line."""
        found = []
        for view in self._views:
            names = [name for name in view.feed.series if name.startswith(SYSTEM_PREFIX)]
            names = sorted(name for name in names if one.pattern.fullmatch(name))
            several = len(names) > 1 and len(self._views) == 1
            found += [(view, name, color(i) if several else view.color) for i, name in enumerate(names)]
        return found


def _latest(one: Quantity, entries: Sequence[tuple[RunView, str, str]]) -> str:
    alive = [(view, name) for view, name, _ in entries if not view.finished]
    shown = alive or [(view, name) for view, name, _ in entries]
    values = [last for view, name in shown if (last := view.feed.series[name].last) is not None]
    unit = "%" if one.unit.startswith("%") else f" {one.unit}"
    return f"{one.label} {number(one.total(values))}{unit}"
