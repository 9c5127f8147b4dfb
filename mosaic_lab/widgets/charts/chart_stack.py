"""Charts stacked over a shared x axis: each has its own y axis, so that none flattens another."""

from __future__ import annotations

from collections.abc import Sequence

import bqplot
from ipywidgets import Layout, VBox, Widget

from mosaic_lab.widgets.charts.chart import HEIGHT, Chart, Line, Window, value_range
from mosaic_lab.widgets.page.widget_tree import widgets_stay_on_subshell

STACKED_HEIGHT = "200px"
TITLE_MARGIN = 26


class ChartStack:
    """As many charts as needed, at least one. Only one thread may draw at a time. ``box`` shows them.
    Zooming, limits and the kind of axis apply to all; ``marked``: draw the lines' marks."""

    def __init__(self, marked: bool = False) -> None:
        self._marked = marked
        self._limits: tuple[float | None, float | None] = (None, None)
        self._panning = False
        self._charts = [Chart(marked=marked)]
        self._margin = self._charts[0].figure.fig_margin
        self._reach: tuple[float, float] | None = None  # of the drawn x
        self.x_scale.observe(self._stay_in_reach, names=["min", "max"])
        self.box = VBox(self._charts[0].parts, layout=Layout(width="100%"))

    @property
    def widgets(self) -> list[Widget]:
        """All widgets, including those of hidden charts."""
        return [self.box, *(widget for chart in self._charts for widget in chart.widgets)]

    @property
    def x_scale(self) -> bqplot.LinearScale:
        """The shared scale of the x axis."""
        return self._charts[0].x_scale

    @property
    def window(self) -> Window:
        """The range to which the user has zoomed."""
        return self._charts[0].window

    @property
    def full_window(self) -> Window:
        """The full range within the limits of the y axes."""
        return self._charts[0].full_window

    def draw(
        self, charts: Sequence[tuple[str, Sequence[Line]]], x_label: str, *, kind: str = "", log: bool = False
    ) -> None:
        """Replace the drawn ``charts``, pairs of a title and lines; see `Chart.draw`. A single chart is named
        by the legend, so it has no title and is higher."""
        while len(self._charts) < len(charts):
            self._charts.append(self._new_chart())
        for number, chart in enumerate(self._charts):
            title, lines = charts[number] if number < len(charts) else ("", ())
            self._shape(chart, title if len(charts) > 1 else "")
            chart.use_log(log)
            chart.draw(lines, x_label, kind)
        self._reach = value_range([line.curve[0] for _, lines in charts for line in lines])
        visible = self._charts[: max(1, len(charts))]
        self.box.children = [widget for chart in visible for widget in chart.parts]

    def send_again(self) -> None:
        """Send the drawn state again; see `Chart.send_again`."""
        for chart in self._charts:
            chart.send_again()

    def use_panning(self, on: bool) -> None:
        """Let the mouse pan and zoom, or leave the wheel to the page."""
        self._panning = on
        for chart in self._charts:
            chart.use_panning(on)

    def limit(self, low: float | None, high: float | None) -> None:
        """Show y from ``low`` to ``high``; see `Chart.limit`."""
        self._limits = (low, high)
        for chart in self._charts:
            chart.limit(low, high)

    def reset(self) -> None:
        """Undo panning and zooming; keep the limits of the y axes."""
        for chart in self._charts:
            chart.reset()

    def _stay_in_reach(self, _: object) -> None:
        """Move the visible range back to the data after the user has panned or zoomed beyond them."""
        scale, reach = self.x_scale, self._reach
        if reach is None or scale.min is None or scale.max is None:
            return
        low: float | None = min(max(scale.min, reach[0]), reach[1] - (scale.max - scale.min))
        high: float | None = max(min(scale.max, reach[1]), reach[0] + (scale.max - scale.min))
        if scale.max - scale.min >= reach[1] - reach[0]:
            low = high = None
        if (low, high) != (scale.min, scale.max):
            with scale.hold_sync(), scale.hold_trait_notifications():
                scale.min, scale.max = low, high

    def _new_chart(self) -> Chart:
        chart = Chart(marked=self._marked, x_scale=self.x_scale)
        chart.use_panning(self._panning)
        chart.limit(*self._limits)
        widgets_stay_on_subshell(*chart.widgets)
        return chart

    def _shape(self, chart: Chart, title: str) -> None:
        figure, top = chart.figure, {"top": TITLE_MARGIN} if title else {}
        figure.title, figure.fig_margin = title, {**self._margin, **top}
        figure.layout.height = STACKED_HEIGHT if title else HEIGHT
