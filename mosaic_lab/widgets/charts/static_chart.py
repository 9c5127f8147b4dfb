"""The chart of a panel as PNG, for notebooks without a kernel or a browser."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

from mosaic_lab.chart_style import (
    DOTS_PER_INCH,
    draw_line,
    draw_marks,
    dress,
    legend,
    marks_of,
    new_figure,
    png_of,
)
from mosaic_lab.fastlane.montage import INK
from mosaic_lab.fastlane.pictures import image_png, joined
from mosaic_lab.overview.curve_model import Floats
from mosaic_lab.widgets.charts.chart import (
    EVERYTHING,
    FEW_TICKS,
    Line,
    Window,
    log_ticks,
    positive_band,
    step_ticks,
)

WIDTH_SCALE = 0.86
"""Points in this picture per pixel of a chart in the page."""


def chart_picture(
    lines: Sequence[Line],
    x_label: str,
    title: str,
    log: bool = False,
    *,
    y_label: str = "",
    background: str = "none",
    sharpness: int = DOTS_PER_INCH,
    window: Window = EVERYTHING,
) -> bytes:
    """Return the chart as PNG. ``background``: a colour, or "none" (transparent). ``sharpness`` is in dots
    per inch, ``window`` the visible range."""
    from matplotlib.ticker import NullLocator

    if log:
        lines = [replace(line, band=line.band and positive_band(line.band, _values(lines))) for line in lines]
    figure = new_figure(sharpness)
    axes = figure.add_subplot(facecolor="none")
    for line in lines:
        width, dash = line.style
        draw_line(
            axes,
            line.color,
            line.curve,
            line.thin,
            line.band,
            linewidth=WIDTH_SCALE * width,
            linestyle=dash,
            zorder=3 - width / 10,  # wide lines below thin ones
            label=line.label,
        )
    draw_marks(axes, marks_of((line.color, line.marks) for line in lines))
    if log:
        axes.set_yscale("log", nonpositive="mask")
        axes.set_yticks(log_ticks(_values(lines)))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.locator_params(axis="y", nbins=FEW_TICKS)
    if (ticks := step_ticks([line.curve[0] for line in lines])) is not None:
        axes.set_xticks(ticks)
    axes.set_xlim(*window.x)
    axes.set_ylim(*window.y)
    dress(axes, x_label, title)
    axes.set_ylabel(y_label, color=INK, fontsize=8.5)
    if len(lines) > 1 or any(line.band is not None or len(line.thin) > 1 for line in lines):
        legend(figure)
    return png_of(figure, background)


def _values(lines: Sequence[Line]) -> list[Floats]:
    curves = [curve for line in lines for curve in (line.curve, *line.thin, line.band) if curve]
    return [y for _, y in curves]


def stacked(pictures: Sequence[bytes]) -> bytes | None:
    """Return PNG pictures stacked vertically; None if there are none."""
    from PIL import Image

    images = [Image.open(io.BytesIO(data)).convert("RGBA") for data in pictures]
    return image_png(joined(images)) if images else None
