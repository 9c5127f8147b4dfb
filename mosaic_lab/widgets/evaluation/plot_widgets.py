"""Plots of evaluations as bqplot figures (`PlotFigures`), and their display in a cell (`show`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import anywidget
import bqplot
import numpy as np
import traitlets as t
from ipywidgets import HBox, Layout, VBox

from mosaic_lab.chart_style import BAND_OPACITY
from mosaic_lab.evaluation.reports.plot import Facet, Plot, mark_color, plot_picture
from mosaic_lab.overview.curve_model import Floats
from mosaic_lab.text_table import shortened
from mosaic_lab.widgets.charts.chart import (
    EMPTY,
    FEW_TICKS,
    HEIGHT,
    ChartPointer,
    fill,
    round_ticks,
    tick_format,
    value_range,
)
from mosaic_lab.widgets.comparison import followed_panel
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.saved_form import Caption, ShownOutputs
from mosaic_lab.widgets.page.widget_tree import close_widgets, widgets_stay_on_subshell
from mosaic_lab.widgets.replays.replay_area import ReplayArea

ROW_PIXELS, AROUND_ROWS_PIXELS = 26, 74
NAME_PIXELS, MAX_NAME_PIXELS = 7, 170
"""Width of a character in a row's name, and maximum width of a name."""
MIN_PIXELS = 130
"""Minimum width of a figure beside its axis; below it, the next figure wraps."""
FEW_BESIDE = 3
"""Approximate number of x ticks in figures side by side."""
MAX_SHOWN_PLOTS = 32
"""Maximum number of live plots; beyond it the oldest are replaced by their static form."""


class FacetFigure:
    """A facet as a figure with a fixed set of marks. ``has_names``: whether this figure names the rows.
    ``wraps``: whether it may move below the previous figure if space is short."""

    def __init__(self, facet: Facet, has_names: bool, wraps: bool) -> None:
        rows = facet.rows
        self._x = bqplot.LinearScale()
        self._y = (
            bqplot.LinearScale(min=-0.5, max=len(rows) - 0.5, reverse=True) if rows else bqplot.LinearScale()
        )
        scales = {"x": self._x, "y": self._y}
        self._bands = bqplot.Lines(x=[], y=[], scales=scales, fill="inside", stroke_width=0.0)
        self._lines = bqplot.Lines(x=[], y=[], scales=scales, stroke_width=2.0)
        self._points = bqplot.Scatter(x=[], y=[], scales=scales, default_size=36, stroke_width=0.0)
        self._x_axis = bqplot.Axis(
            scale=self._x, label=facet.x_label, label_location="end", label_offset="2.6em"
        )
        self._y_axis = bqplot.Axis(scale=self._y, side="left")
        left = 58
        if rows:
            names = [shortened(name, MAX_NAME_PIXELS // NAME_PIXELS) if has_names else "" for name in rows]
            self._y_axis.grid_lines = "none"
            self._y_axis.tick_values = np.arange(len(rows))
            self._y_axis.tick_labels = {str(row): name for row, name in enumerate(names)}
            left = 24 + NAME_PIXELS * max(len(name) for name in names)
        else:
            self._x_axis.grid_lines = "none"
        row_height = ROW_PIXELS * facet.spacing
        height = f"{AROUND_ROWS_PIXELS + row_height * len(rows):.0f}px" if rows else HEIGHT
        self.figure = bqplot.Figure(
            marks=[self._bands, self._lines, self._points],
            axes=[self._x_axis, self._y_axis],
            layout=Layout(
                width="auto",
                height=height,
                min_width=f"{left + MIN_PIXELS}px" if wraps else "0",
                flex=f"1 1 {left}px",
            ),
            fig_margin={"top": 28, "bottom": 44, "left": left, "right": 16},
            title=facet.title,
            display_toolbar=False,
            padding_x=0.03,
        )
        self.pointer = ChartPointer(
            x_scale=self._x,
            y_scale=self._y,
            marks=[self._lines, self._points],
            x_label=facet.x_label,
            rows=rows,
        )
        self._rows = rows
        self._tick_count = FEW_BESIDE if rows or wraps else FEW_TICKS
        self.draw(facet, [facet])

    def draw(self, facet: Facet, same_scale: Sequence[Facet]) -> None:
        """Draw another facet with the same rows, on the x axis that it shares with ``same_scale``."""
        marks = facet.marks
        bands = [(mark.band, mark_color(mark)) for mark in marks if mark.band is not None]
        thin = [(line, mark) for mark in marks for line in mark.thin]
        lines_of_marks = [*thin, *((mark.line, mark) for mark in marks if mark.line is not None)]
        lines = [(line, mark_color(mark)) for line, mark in lines_of_marks]
        points = [(mark.points, mark_color(mark)) for mark in marks if mark.points is not None]
        fill(self._bands, bands, [BAND_OPACITY] * len(bands))
        fill(self._lines, lines, [mark.thin_opacity for _, mark in thin] + [1.0] * (len(lines) - len(thin)))
        with self._points.hold_sync():
            self._points.x = np.concatenate([x for (x, _), _ in points] or [np.empty(0)])
            self._points.y = np.concatenate([y for (_, y), _ in points] or [np.empty(0)])
            self._points.colors = [color for (x, _), color in points for _ in range(len(x))] or ["#000000"]
        self.pointer.labels = [
            [mark.label for _, mark in lines_of_marks],
            [mark.label for mark in marks if mark.points is not None for _ in mark.points[0]],
        ]
        self.episodes = [
            episode
            for mark in marks
            if mark.points is not None
            for episode in mark.episodes or [None] * len(mark.points[0])
        ]
        hints = [f"click: replays {episode}" if episode else "" for episode in self.episodes]
        self.pointer.hints = [[], hints]
        parts = [part for part, _ in (*bands, *lines, *points)]
        self.empty = not parts
        x = [x for other in same_scale for x in _x_values(other)]
        _set_ticks(self._x_axis, x, self.figure.padding_x, self._tick_count)
        if len(same_scale) > 1 and (reach := value_range(x)) and reach[0] < reach[1]:
            self._x.min, self._x.max = reach
        if not self._rows:
            _set_ticks(self._y_axis, [y for _, y in parts], self.figure.padding_y, FEW_TICKS)

    def send_again(self) -> None:
        """Send the drawn state again: the page loses updates that arrive while it builds the figure."""
        for mark in (self._bands, self._lines, self._points):
            mark.send_state(("x", "y"))


class PlotNote(anywidget.AnyWidget):
    """A legend of the colours, with a note on how to read the figures."""

    _esm = page_code("plot_note.js")
    _css = page_code("plot_note.css")

    legend: t.List[dict[str, str]] = t.List(t.Dict()).tag(sync=True)
    title = t.Unicode().tag(sync=True)
    note = t.Unicode().tag(sync=True)
    said: t.List[str] = t.List(["info", ""], help="of a replay: level and text").tag(sync=True)


class PlotFigures:
    """The figures of a plot side by side, with a legend unless rows name the colours, and below them the
    replay of a clicked point."""

    def __init__(self, plot: Plot) -> None:
        have_names = [plot.names_rows(index) or not facet.rows for index, facet in enumerate(plot.facets)]
        wraps = len(have_names) > 1 and all(have_names)  # rows without names stay beside those that have them
        self._facets = [FacetFigure(*pair, wraps) for pair in zip(plot.facets, have_names, strict=True)]
        layout = Layout(width="100%", min_width="0", flex_flow="row wrap" if wraps else "row")
        self._row = HBox(
            [part for facet in self._facets for part in (facet.figure, facet.pointer)], layout=layout
        )
        self._note = PlotNote()
        self._replays = ReplayArea(self._say, followed_panel)
        for figure in self._facets:
            figure.pointer.observe(partial(self._choose, figure), "chosen")
        self.box = VBox([self._note, self._row, self._replays.box])
        self.box.add_class("mosaic-plot")
        self.draw(plot)
        widgets_stay_on_subshell(self.box)

    def draw(self, plot: Plot) -> None:
        """Draw another plot with the same facets and rows."""
        for figure, facet in zip(self._facets, plot.facets, strict=True):
            same_scale = [other for other in plot.facets if other.rows and _scale(other) == _scale(facet)]
            figure.draw(facet, same_scale or [facet])
        empty = all(figure.empty for figure in self._facets)
        (self._row.add_class if empty else self._row.remove_class)(EMPTY)
        named = plot.facets if plot.has_legend else ()
        marks = (mark for facet in named if not facet.rows for mark in facet.marks)
        legend = dict.fromkeys((mark.label, mark_color(mark)) for mark in marks)  # shared by all facets
        self._note.legend = [{"label": label, "color": legend_color} for label, legend_color in legend]
        self._note.title, self._note.note = plot.title, plot.note
        self._replay = plot.replay

    def send_again(self) -> None:
        for facet in self._facets:
            facet.send_again()

    def close(self) -> None:
        """Close the widgets: the page shows the static form in their place."""
        self._replays.close()
        close_widgets([self.box])

    def _say(self, level: str, text: str) -> None:
        self._note.said = [level, text]

    def _choose(self, figure: FacetFigure, change: Mapping[str, Any]) -> None:
        """Replay the episode of a clicked point, unless the plot has changed meanwhile."""
        point, replay = change["new"]["id"][1], self._replay
        episode = figure.episodes[point] if point < len(figure.episodes) else None
        if replay is not None and episode is not None:
            self._replays.request(str(episode), partial(replay, episode))


class PlotStack:
    """Plots below each other, in ``box``. Figures are reused while their facets and rows stay the same."""

    def __init__(self) -> None:
        self.box = VBox([])
        self._figures: list[PlotFigures] = []
        self._shapes: list[object] = []

    def draw(self, plots: Sequence[Plot]) -> None:
        """Replace the drawn plots."""
        shapes: list[object] = [
            [(facet.title, facet.x_label, facet.rows) for facet in plot.facets] for plot in plots
        ]
        former = dict(enumerate(zip(self._shapes, self._figures, strict=True)))
        figures = []
        for index, (shape, plot) in enumerate(zip(shapes, plots, strict=True)):
            former_shape, reused = former.get(index, (None, None))
            if reused is not None and former_shape == shape:
                reused.draw(plot)
                figures.append(former.pop(index)[1])
            else:
                figures.append(PlotFigures(plot))
        if figures != self._figures:
            self.box.children = [plot_figures.box for plot_figures in figures]
        self._figures, self._shapes = figures, shapes
        for _, unused in former.values():
            unused.close()

    def send_again(self) -> None:
        """Send the drawn state again, for a view that has just appeared."""
        for figures in self._figures:
            figures.send_again()


_shown = ShownOutputs(MAX_SHOWN_PLOTS)


def show(plot: Plot) -> None:
    """Show a plot, with its static form, as an output of the running cell."""
    figures = PlotFigures(plot)
    figures.box.add_class("mosaic-panel")
    _shown.show(
        figures.box, plot.title, lambda: Caption(plot.note), lambda: plot_picture(plot), figures.close
    )


def _scale(facet: Facet) -> tuple[str, tuple[str, ...]]:
    return facet.x_label, facet.rows


def _x_values(facet: Facet) -> list[Floats]:
    """Return the x of everything in a facet."""
    parts = [part for mark in facet.marks for part in (mark.band, mark.line, mark.points, *mark.thin)]
    return [part[0] for part in parts if part is not None]


def _set_ticks(axis: bqplot.Axis, parts: Sequence[Floats], padding: float, count: int) -> None:
    """Set about ``count`` round ticks on an axis over the values; ``padding`` is the figure's padding along
    it."""
    if span := value_range(parts):
        low, high = span
        margin = padding * (high - low)
        axis.tick_values = ticks = round_ticks(low - margin, high + margin, count)
        axis.tick_format = tick_format(span, ticks)
