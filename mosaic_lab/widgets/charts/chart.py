"""The bqplot figure of a panel: a fixed set of widgets whose state is updated.

Three ``Lines`` marks draw everything (bands, thin lines, lines on top), each with 2-D arrays in float32, so
that the cost of an update depends only on the number of points drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import anywidget
import bqplot
import numpy as np
import traitlets as t
from ipywidgets import Layout, Widget, widget_serialization
from numpy.typing import NDArray

from mosaic_lab.chart_style import BAND_OPACITY, LABEL_ROWS, THIN_OPACITY, Mark, MarkPosition, marks_of
from mosaic_lab.fastlane.montage import INK
from mosaic_lab.overview.curve_model import Curve, Floats
from mosaic_lab.widgets.page.page_code import page_code

HEIGHT, SMALL_HEIGHT = "290px", "170px"
EMPTY = "mosaic-empty"
"""CSS class of a chart without data. It hides the axes, whose scale would be meaningless."""
LARGE = 5_000
"""Values from which an axis uses SI prefixes; slightly below the round numbers at which runs end."""
FEW_TICKS = 5
"""Approximate number of ticks on a y axis; each has a grid line."""
FEW_STEPS = 8
"""Up to this many integers get one tick each; bqplot alone would add ticks between them."""
_D3_DIGITS = 6  # significant digits of d3's formats by default


class ChartPointer(anywidget.AnyWidget):
    """Shows the nearest point of each line with its name or, on a categorical y axis, the values in a row.
    The widget follows the figure in the same box."""

    _esm = page_code("chart_pointer.js")
    _css = page_code("chart_pointer.css")

    x_scale: Any = t.Instance(Widget).tag(sync=True, **widget_serialization)
    y_scale: Any = t.Instance(Widget).tag(sync=True, **widget_serialization)
    log = t.Bool(False, help="whether the y axis is logarithmic").tag(sync=True)
    marks: t.List[Any] = t.List(t.Instance(bqplot.Mark), help="lines and points").tag(
        sync=True, **widget_serialization
    )
    labels: t.List[list[str]] = t.List(help="for each mark, the names of its lines or points").tag(sync=True)
    x_label = t.Unicode("").tag(sync=True)
    kind = t.Unicode("", help="how the values differ from the data, such as smoothed").tag(sync=True)
    rows: t.List[str] = t.List(t.Unicode(), help="the names of y = 0, 1, … where y is a category").tag(
        sync=True
    )
    hints: t.List[list[str]] = t.List(help="for each mark, what a click on its lines or points does").tag(
        sync=True
    )
    chosen: t.Dict[str, Any] = t.Dict({}, help="{id: [mark, point], number}: the last click").tag(sync=True)


class VerticalMarks:
    """Full-height vertical lines on the axis of ``x_scale``; all of them are in view."""

    def __init__(self, x_scale: bqplot.LinearScale) -> None:
        self._height = bqplot.LinearScale(min=0.0, max=1.0)
        scales = {"x": x_scale, "y": self._height}
        self._lines = bqplot.Lines(
            x=[], y=[], scales=scales, stroke_width=1.0, line_style="dashed",
            colors=[INK], opacities=[0.6],
        )  # fmt: skip
        self._labels = bqplot.Label(
            x=[], y=[], text=[], scales=scales, colors=[INK], default_size=11,
            font_weight="normal", x_offset=4, y_offset=10,
        )  # fmt: skip

    @property
    def figure_marks(self) -> list[bqplot.Mark]:
        """The figure's marks."""
        return [self._lines, self._labels]

    @property
    def widgets(self) -> list[Widget]:
        return [self._lines, self._labels, self._height]

    def draw(self, marks: Sequence[Mark]) -> None:
        """Replace the drawn marks."""
        xs, colors = np.array([mark.x for mark in marks]), [mark.color for mark in marks] or [INK]
        with self._lines.hold_sync():
            self._lines.x = np.column_stack([xs, xs]) if len(xs) else np.empty(0)
            self._lines.y = np.tile([0.0, 1.0], (len(xs), 1)) if len(xs) else np.empty(0)
            self._lines.colors, self._lines.opacities = colors, [0.6] * len(colors)
        with self._labels.hold_sync():
            self._labels.x, self._labels.y = xs, 1.0 - 0.06 * (np.arange(len(xs)) % LABEL_ROWS)
            self._labels.text, self._labels.colors = [mark.label for mark in marks], colors

    def send_again(self) -> None:
        """Send the drawn state again."""
        self._lines.send_state(("x", "y"))
        self._labels.send_state(("x", "y", "text", "colors"))


class LineStyle(NamedTuple):
    """The width of a line in pixels, and its dash: "solid", "dashed" or "dotted"."""

    width: float = 1.75
    dash: str = "solid"


PLAIN = LineStyle()
DASHES = ("solid", "dashed", "dotted")
DISTINCT_STYLES = tuple(LineStyle(width, dash) for dash in DASHES for width in (5.0, 2.0))
"""Styles of lines that may overlap. All remain visible: wide lines are drawn below thin ones, and solid
below dashed ones."""


@dataclass(frozen=True)
class Line:
    """One entry of the chart: a line and the curves drawn behind it.

    ``thin``: the raw data of a smoothed line, or the runs behind a mean. ``band``: the outline of an
    interval. ``marks``: the starts of a curriculum's stages.
    """

    key: str
    label: str
    color: str
    curve: Curve
    thin: tuple[Curve, ...] = ()
    band: Curve | None = None
    style: LineStyle = PLAIN
    marks: tuple[MarkPosition, ...] = ()


class Window(NamedTuple):
    """The visible range of a chart, (minimum, maximum) for each axis; None means the limit of the data."""

    x: tuple[float | None, float | None] = (None, None)
    y: tuple[float | None, float | None] = (None, None)


EVERYTHING = Window()


class Chart:
    """The figure of a panel. Only one thread may draw at a time.

    ``styles``: the styles of the lines to draw. ``small``: lower, with a y axis that starts at zero and has
    few ticks, for charts in a row. ``marked``: draw the lines' marks. ``x_scale``: the scale of another
    chart, so that both zoom together.
    """

    def __init__(
        self,
        y_label: str = "",
        styles: Iterable[LineStyle] = (PLAIN,),
        small: bool = False,
        marked: bool = False,
        x_scale: bqplot.LinearScale | None = None,
    ) -> None:
        self._x = x_scale or bqplot.LinearScale()
        self._limits: tuple[float | None, float | None] = (None, None)  # of y; kept by a reset
        self._linear = bqplot.LinearScale(min=0.0) if small else bqplot.LinearScale()
        self._log = bqplot.LogScale()
        self._small = small
        self._is_log = False
        scales = {"x": self._x, "y": self._linear}
        self._bands = bqplot.Lines(x=[], y=[], scales=scales, fill="inside", stroke_width=0.0)
        self._thin = bqplot.Lines(x=[], y=[], scales=scales, stroke_width=1.0)
        self._tops = {
            style: bqplot.Lines(x=[], y=[], scales=scales, stroke_width=style.width, line_style=style.dash)
            for style in sorted(set(styles), key=lambda style: (-style.width, DASHES.index(style.dash)))
        }
        self._marks = (self._bands, self._thin, *self._tops.values())
        self._verticals = VerticalMarks(self._x) if marked else None
        self._x_axis = bqplot.Axis(
            scale=self._x, grid_lines="none", label_location="end", label_offset="2.6em"
        )
        # One axis per scale: bqplot draws an axis incorrectly after its scale is replaced.
        self._linear_axis, self._log_axis = (
            bqplot.Axis(scale=scale, side="left", label=y_label, label_offset="3.4em")
            for scale in (self._linear, self._log)
        )
        self._value_range = (0.0, 1.0)  # of the drawn values
        for scale in (self._linear, self._log):
            scale.observe(self._set_ticks, names=["min", "max"])
        self._pan_zoom = bqplot.PanZoom(scales={"x": [self._x]})  # zooming y would empty the chart
        self.figure = bqplot.Figure(
            marks=[*self._marks, *(self._verticals.figure_marks if self._verticals else ())],
            axes=[self._x_axis, self._linear_axis],
            layout=Layout(width="100%", height=SMALL_HEIGHT if small else HEIGHT, min_width="0"),
            fig_margin={"top": 10, "bottom": 44, "left": 58, "right": 26},  # half of the last label
            display_toolbar=False,
            padding_y=0.04,
        )

        self._pointer = ChartPointer(x_scale=self._x, y_scale=self._linear, marks=list(self._tops.values()))

    @property
    def parts(self) -> list[Widget]:
        """The widgets to put into a box."""
        return [self.figure, self._pointer]

    @property
    def widgets(self) -> list[Widget]:
        """All widgets of the chart, including axes and scales not in use."""
        scales = (self._x, self._linear, self._log)
        axes = (self._x_axis, self._linear_axis, self._log_axis)
        verticals = self._verticals.widgets if self._verticals else ()
        return [*self.parts, *self._marks, *verticals, *scales, *axes, self._pan_zoom]

    @property
    def x_scale(self) -> bqplot.LinearScale:
        """The scale of the x axis."""
        return self._x

    @property
    def window(self) -> Window:
        """The range to which the user has zoomed."""
        y = self._log if self._is_log else self._linear
        return Window((self._x.min, self._x.max), (y.min, y.max))

    def draw(self, lines: Sequence[Line], x_label: str, kind: str = "") -> None:
        """Replace the lines. On a logarithmic axis values ≤ 0 are gaps. ``kind``: such as "smoothed"."""
        if self._verticals is not None:
            self._verticals.draw(marks_of((line.color, line.marks) for line in lines))
        outlines = [(line.band, line.color) for line in lines if line.band and len(line.band[0])]
        thin = [(self._on_axis(curve), line.color) for line in lines for curve in line.thin if len(curve[0])]
        nonempty = [line for line in lines if len(line.curve[0])]
        top = [(self._on_axis(line.curve), line.color) for line in nonempty]
        values = [curve[1] for curve, _ in (*top, *thin, *outlines)]
        bands = [(positive_band(curve, values) if self._is_log else curve, key) for curve, key in outlines]
        values = [curve[1] for curve, _ in (*top, *thin, *bands)]
        padding = [
            (curve, "#000000") for curve in axis_padding([curve for curve, _ in top], values, self._is_log)
        ]
        values += [curve[1] for curve, _ in padding]
        fill(self._bands, bands, [BAND_OPACITY] * len(bands))
        fill(self._thin, [*thin, *padding], [THIN_OPACITY] * len(thin) + [0.0] * len(padding))
        for style, mark in self._tops.items():
            curves = [curve for curve, line in zip(top, nonempty, strict=True) if line.style == style]
            fill(mark, curves, [1.0] * len(curves))
        (self.figure.remove_class if top else self.figure.add_class)(EMPTY)
        if reach := value_range(values):
            self._value_range = reach
            if self._limits != (None, None):
                self._limit()
            self._set_ticks()
        self._pointer.labels = [
            [line.label for line in nonempty if line.style == style] for style in self._tops
        ]
        self._pointer.x_label, self._pointer.kind = x_label, kind
        self._x_axis.label = x_label
        xs = [curve[0] for curve, _ in top]
        ticks = step_ticks(xs)
        if ticks is None and self._small and (span := value_range(xs)):
            ticks = round_ticks(*span)  # bqplot's own ticks would overlap
        self._x_axis.tick_values = ticks
        self._x_axis.tick_format = tick_format(value_range(xs))

    def use_log(self, log: bool) -> None:
        """Use a logarithmic or a linear y axis."""
        if log == self._is_log:
            return
        self._is_log = log
        scale = self._log if log else self._linear
        for mark in self._marks:
            mark.scales = {"x": self._x, "y": scale}
        self.figure.axes = [self._x_axis, self._log_axis if log else self._linear_axis]
        self._pointer.y_scale, self._pointer.log = scale, log

    def use_panning(self, on: bool) -> None:
        """Let the mouse pan (drag) and zoom (wheel), or leave the wheel to the page."""
        self.figure.interaction = self._pan_zoom if on else None

    def reset(self) -> None:
        """Undo panning and zooming; keep the limits of the y axis."""
        with self._x.hold_sync():
            self._x.min = self._x.max = None
        self._limit()

    def limit(self, low: float | None, high: float | None) -> None:
        """Limit y to ``low`` and ``high``; None means the limit of the data. An empty range is ignored."""
        empty = low is not None and high is not None and low >= high
        self._limits = (None, None) if empty else (low, high)
        self._limit()

    @property
    def full_window(self) -> Window:
        """The full range within the limits of the y axis."""
        return Window(y=self._limits_of(self._log if self._is_log else self._linear))

    def _limit(self) -> None:
        for scale in (self._linear, self._log):
            with scale.hold_sync():
                scale.min, scale.max = self._limits_of(scale)

    def _limits_of(self, scale: bqplot.Scale) -> tuple[float | None, float | None]:
        low, high = (
            None if limit is None or (limit <= 0 and scale is self._log) else limit for limit in self._limits
        )
        # bqplot turns an axis upside down if its only limit is beyond the values.
        lowest, highest = self._value_range
        if low is not None and high is None and low >= highest:
            high = 10 * low if scale is self._log else low + max(highest - lowest, abs(low) / 10, 1e-9)
        elif high is not None and low is None and high <= lowest:
            low = high / 10 if scale is self._log else high - max(highest - lowest, abs(high) / 10, 1e-9)
        return low, high

    def send_again(self) -> None:
        """Send the drawn state again, because the page loses updates that arrive while it builds the
        figure."""
        for mark in self._marks:
            mark.send_state(("x", "y"))
        if self._verticals is not None:
            self._verticals.send_again()
        for axis in (self._x_axis, self._linear_axis, self._log_axis):
            form = axis.tick_format
            axis.tick_format = None  # the page ignores unchanged values
            axis.tick_format = form

    def _set_ticks(self, _: object = None) -> None:
        """Choose ticks for the visible range of the y axis."""
        scale = self._log if self._is_log else self._linear
        low, high = self._value_range
        margin = 0.0 if self._is_log else self.figure.padding_y * (high - low)
        low = low - margin if scale.min is None else scale.min
        high = high + margin if scale.max is None else scale.max
        if self._is_log:
            self._log_axis.tick_values = ticks = log_ticks([np.array([low, high])])
            self._log_axis.tick_format = tick_format(value_range([ticks]))
        else:
            self._linear_axis.tick_values = ticks = round_ticks(low, high)
            self._linear_axis.tick_format = tick_format((low, high), ticks)

    def _on_axis(self, curve: Curve) -> Curve:
        return (curve[0], positive(curve[1])) if self._is_log else curve


def fill(mark: bqplot.Lines, curves: Sequence[tuple[Curve, str]], opacities: list[float]) -> None:
    """Replace a mark's curves and colours; for bands, ``opacities`` apply to their insides."""
    if not curves and not mark.x.size:
        return
    colors = [color for _, color in curves]
    with mark.hold_sync():
        mark.x, mark.y = stack([curve for curve, _ in curves])
        mark.colors = colors or ["#000000"]
        if mark.fill == "inside":
            mark.fill_colors, mark.fill_opacities = colors, opacities
        else:
            mark.opacities = opacities


def axis_padding(curves: Sequence[Curve], values: Sequence[Floats], log: bool) -> list[Curve]:
    """Return an invisible line that gives the y axis a scale if all values are equal; otherwise nothing."""
    reach = value_range(values)
    if reach is None or reach[0] < reach[1]:
        return []
    value, half = reach[0], 0.05 * abs(reach[0]) or 0.5
    bounds = (value / 2, value * 2) if log else (value - half, value + half)
    return [(np.repeat(curves[0][0][:1], 2), np.array(bounds))]


def value_range(parts: Sequence[Floats]) -> tuple[float, float] | None:
    """Return the minimum and maximum of the finite values; None if there are none."""
    values = np.concatenate([*parts, np.empty(0)])
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if len(values) else None


def round_ticks(low: float, high: float, count: int = FEW_TICKS) -> Floats:
    """Return the ticks of a linear axis from ``low`` to ``high``: about ``count`` round numbers."""
    if not high > low:
        return np.array([low])
    power = 10.0 ** np.floor(np.log10((high - low) / count))
    step = next(power * factor for factor in (1, 2, 5, 10) if (high - low) / (power * factor) <= count + 1)
    ticks: Floats = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    return ticks


def log_ticks(parts: Sequence[Floats]) -> Floats:
    """Return ticks for a logarithmic axis: few enough to be readable, unlike bqplot's own."""
    values = np.concatenate([*parts, np.empty(0)])
    values = values[np.isfinite(values) & (values > 0)]
    if not len(values):
        return np.ones(1)
    low, high = float(values.min()), float(values.max())
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for factors in ([1.0, 2.0, 5.0], [1.0, 2.0, 3.0, 5.0, 7.0], [1.0, 3.0], [1.0]):
        ticks = np.outer(decades, factors).ravel()
        visible: Floats = ticks[(ticks >= low) & (ticks <= high)]
        if 2 <= len(visible) <= FEW_TICKS + 1:
            return visible
    if len(visible) < 2:
        return np.array([low, high])
    return visible[:: 1 + (len(visible) - 1) // (FEW_TICKS + 1)]


def step_ticks(parts: Sequence[Floats]) -> Floats | None:
    """Return one tick per integer for an axis over a few integers; None for any other axis."""
    few_integers = all(len(part) <= FEW_STEPS + 1 and np.all(part % 1 == 0) for part in parts)
    values = np.concatenate([*parts, np.empty(0)]) if few_integers else np.empty(0)
    if not len(values) or values.min() < 0 or values.max() > FEW_STEPS:
        return None
    ticks: Floats = np.arange(values.max() + 1)
    return ticks


def tick_format(span: tuple[float, float] | None, ticks: Sequence[float] | Floats = ()) -> str:
    """Return the format of an axis over ``span`` with enough digits to distinguish evenly spaced ``ticks``.
    Only large numbers have SI prefixes, because d3 would write 0.005 as "5m"."""
    peak = max(map(abs, span or [0.0]))
    notation = "~s" if peak >= LARGE else "~g"
    if len(ticks) < 2:
        return notation
    digits = math.floor(math.log10(peak)) - math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9) + 1
    return f".{digits}{notation}" if digits > _D3_DIGITS else notation


def positive_band(band: Curve, values: Sequence[Floats]) -> Curve:
    """Return the outline of an interval for a logarithmic axis: values ≤ 0 become the smallest positive one
    of the chart's ``values``."""
    positive_range = value_range([positive(part) for part in values])
    return band[0], np.where(band[1] <= 0, positive_range[0] if positive_range else np.nan, band[1])


def positive(y: Floats) -> Floats:
    """Return the values with those ≤ 0 replaced by NaN, for a logarithmic axis."""
    return np.where(y > 0, y, np.nan)


def stack(curves: Sequence[Curve]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return non-empty curves as two float32[k, n] arrays; short rows repeat their last point. n is at least
    2: bqplot would read a single column as a row."""
    length = max((len(x) for x, _ in curves), default=0)
    length = max(length, 2) if curves else 0
    xs = np.empty((len(curves), length), np.float32)
    ys = np.empty((len(curves), length), np.float32)
    for row, (x, y) in enumerate(curves):
        xs[row, : len(x)], ys[row, : len(y)] = x, y
        xs[row, len(x) :], ys[row, len(y) :] = x[-1], y[-1]
    return xs, ys
