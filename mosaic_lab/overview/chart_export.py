"""Charts of curves as files: their data as CSV, their pictures as PNG and SVG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mosaic_lab.chart_style import (
    SAVED_DOTS_PER_INCH,
    SIZE_INCHES,
    color,
    draw_line,
    draw_marks,
    dress,
    legend,
    marks_of,
    new_figure,
    outline,
    png_of,
    svg_of,
)
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.fastlane.montage import INK
from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.curve_model import ChartRequest
from mosaic_lab.overview.curves import CurveLine, Curves, curves
from mosaic_lab.overview.run_points import points_in_view
from mosaic_lab.runs import Run
from mosaic_lab.runs.run_labels import distinct_names
from mosaic_lab.table_files import csv_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

TYPES = {"csv": "text/csv", "png": "image/png", "svg": "image/svg+xml"}
MAX_ROWS = 1_000_000
"""Maximum number of rows of a CSV file: about 80 MB, and more than a spreadsheet opens."""
MAX_CHARTS = 24
"""Maximum number of charts in one picture."""
COLUMNS = 2
DAY = 86_400
"""Seconds; matplotlib's dates are days."""
READ_SECONDS = 60.0
"""Time limit for parsing: an exported file must be complete."""


class ExportedChart(NamedTuple):
    """A chart to export, as shown on the page."""

    runs: Sequence[Run]
    request: ChartRequest


class ChartFile(NamedTuple):
    """A file for the user: its name, its MIME type and its bytes."""

    name: str
    type: str
    content: bytes


def export_charts(charts: Sequence[ExportedChart], format: str, pool: ColumnPool) -> ChartFile:
    """Return charts as one file; ``format`` is "csv", "png" or "svg".

    A CSV file has all points in view at full resolution, as reported by the runs, regardless of smoothing,
    grouping and outliers on the page. Its columns are run (id), name, metric, step, time (Unix seconds),
    value. A picture shows the charts as drawn.

    Raises ConfigurationError for another format, no charts, or too many, and MosaicError while the runs'
    files are too large to have been read completely.
    """
    if format not in TYPES:
        raise ConfigurationError(f"format must be one of {', '.join(TYPES)}, not {format!r}")
    if not 0 < len(charts) <= MAX_CHARTS:
        raise ConfigurationError(f"cannot export {len(charts)} charts: give 1 to {MAX_CHARTS}")
    if format == "csv":
        content = _csv(charts, pool)
    else:
        curves_by_chart = [curves(chart.runs, chart.request, pool, READ_SECONDS) for chart in charts]
        for chart_curves in curves_by_chart:
            _check_read(chart_curves.read)
        content = charts_picture(charts, curves_by_chart, format)
    metrics = {chart.request.metric for chart in charts}
    name = re.sub(r"[^\w.-]+", "-", metrics.pop()).strip("-.") if len(metrics) == 1 else ""
    return ChartFile(f"{name or 'charts'}.{format}", TYPES[format], content)


def charts_picture(
    charts: Sequence[ExportedChart],
    curves_by_chart: Sequence[Curves],
    format: str = "png",
    background: str = "white",
) -> bytes:
    """Return drawn charts as a PNG or SVG, in two columns if there are several.

    ``background``: a colour, or "none" (transparent).
    """
    columns = min(COLUMNS, len(charts))
    rows = -(-len(charts) // columns)
    figure = new_figure(SAVED_DOTS_PER_INCH, SIZE_INCHES[1] * rows)
    lines = [line for chart_curves in curves_by_chart for line in chart_curves.lines]
    keys = dict.fromkeys(line.thin or line.key for line in lines)
    color_indices = {key: index for index, key in enumerate(keys)}
    for index, (chart, chart_curves) in enumerate(zip(charts, curves_by_chart, strict=True), 1):
        axes = figure.add_subplot(rows, columns, index, facecolor="none")
        colors = {key: chart.request.colors.get(key, color(index)) for key, index in color_indices.items()}
        for line in chart_curves.lines:
            _draw(axes, line, colors[line.thin or line.key], chart.request.x == "time")
        marks = marks_of((colors[line.key], line.marks) for line in chart_curves.lines if line.marks)
        draw_marks(axes, marks, 1 / DAY if chart.request.x == "time" else 1)
        _scale(axes, chart.request)
        dress(axes, chart_curves.x_label, _plain(chart.request.metric))
        if chart.request.x == "time":
            _date(axes)
    if len(keys) > 1 or any(line.thin or line.low is not None for line in lines):
        legend(figure)
    return png_of(figure, background) if format == "png" else svg_of(figure, background)


def _draw(axes: Axes, line: CurveLine, line_color: str, is_time: bool) -> None:
    x = line.x / DAY if is_time else line.x
    if line.thin is not None:
        draw_line(axes, line_color, None, thin=[(x, line.y)])
    else:
        band = None if line.low is None or line.high is None else outline(x, line.low, line.high)
        draw_line(axes, line_color, (x, line.y), band=band, linewidth=1.5, label=_plain(line.label))


def _scale(axes: Axes, request: ChartRequest) -> None:
    if request.log_x and request.x != "time":
        axes.set_xscale("log", nonpositive="mask")
    if request.log_y:
        axes.set_yscale("log", nonpositive="mask")
    days = DAY if request.x == "time" else 1
    start, end = request.start, request.end
    axes.set_xlim(start if start is None else start / days, end if end is None else end / days)
    axes.set_ylim(request.low, request.high)


def _date(axes: Axes) -> None:
    """Use dates on the x axis; they need no axis label."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.set_xlabel("")
    axes.xaxis.get_offset_text().set(color=INK, fontsize=8.5)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _plain(text: str) -> str:
    """Return text that matplotlib neither reads as a formula nor hides as a label."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _csv(charts: Sequence[ExportedChart], pool: ColumnPool) -> bytes:
    import pandas as pd

    tables: list[pd.DataFrame] = []
    rows = 0
    for chart in charts:
        names = dict(zip(chart.runs, distinct_names(chart.runs), strict=True))
        reading = Reading()
        for run, columns in pool.columns(chart.runs, reading, READ_SECONDS):
            for step, time, value in points_in_view(columns, chart.request):
                rows += len(value)
                if rows > MAX_ROWS:
                    raise ConfigurationError(
                        f"a file has at most {MAX_ROWS:,} points, and these runs have more: export fewer "
                        "runs or a shorter range, or read everything with run.metrics()"
                    )
                labels = {"run": run.id, "name": names[run], "metric": chart.request.metric}
                tables.append(pd.DataFrame({**labels, "step": step, "time": time, "value": value}))
        _check_read(reading.fraction)
    empty = pd.DataFrame(columns=["run", "name", "metric", "step", "time", "value"])
    table = pd.concat(tables) if tables else empty
    return csv_text(table, na_rep="NaN").encode()


def _check_read(fraction: float) -> None:
    if fraction < 1:
        raise MosaicError(f"only {fraction:.0%} of the runs' files has been read: export again in a minute")
