"""Plots of evaluations as PNG, by matplotlib, which is imported at the first call. Safe in any thread."""

from __future__ import annotations

import io
import textwrap
from typing import Any

from mosaic_lab.evaluation.reports.plots import NEUTRAL, Facet, Mark, Plot
from mosaic_lab.fastlane.montage import INK
from mosaic_lab.widgets.charts.chart import BAND_OPACITY, THIN_OPACITY, color
from mosaic_lab.widgets.charts.static_chart import DOTS_PER_INCH, SIZE_INCHES, dress, legend

ROW_INCHES, AROUND_ROWS_INCHES = 0.3, 0.9
CAPTION_INCHES, LETTERS = 0.4, 130
"""Of a picture's caption: its height, and its letters in a line."""
POINT_AREA = 22.0
MOST_INCHES = 12.0
"""Height of a picture at most: rows get narrower then."""


def picture(
    plot: Plot, *, background: str = "none", sharpness: int = DOTS_PER_INCH, captioned: bool = False
) -> bytes:
    """The plot as PNG. ``background``: a colour, or "none" (transparent). ``sharpness``: dots per inch.
    ``captioned``: with its title and how to read it, for a picture that stands alone.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = _height(plot) + (CAPTION_INCHES if captioned else 0.0)
    figure = Figure(figsize=(SIZE_INCHES[0], height), dpi=sharpness, layout="constrained")
    FigureCanvasAgg(figure)
    for place, facet in enumerate(plot.facets, 1):
        axes = figure.add_subplot(1, len(plot.facets), place, facecolor="none")
        _draw(axes, facet, named=place == 1)
    if any(not facet.rows for facet in plot.facets):
        legend(figure)
    if captioned:
        text = "\n".join([plot.title, *textwrap.wrap(plot.note, LETTERS)])
        figure.suptitle(text, x=0.01, ha="left", color=INK, fontsize=8.5)
    buffer = io.BytesIO()
    provenance = {"Description": f"{plot!r}"}
    figure.savefig(buffer, format="png", facecolor=background, metadata=provenance)
    return buffer.getvalue()


def mark_color(mark: Mark) -> str:
    """The colour of a mark."""
    return INK if mark.color == NEUTRAL else color(mark.color)


def _height(plot: Plot) -> float:
    most = max((len(facet.rows) for facet in plot.facets), default=0)
    return min(MOST_INCHES, AROUND_ROWS_INCHES + ROW_INCHES * most) if most else SIZE_INCHES[1]


def _draw(axes: Any, facet: Facet, named: bool) -> None:
    for mark in facet.marks:
        own, label = mark_color(mark), mark.label
        for thin in mark.thin:
            axes.plot(*thin, color=own, alpha=THIN_OPACITY, linewidth=0.8)
        if mark.band is not None:
            axes.fill(*mark.band, color=own, alpha=BAND_OPACITY, linewidth=0)
        if mark.line is not None:
            width = 0.9 if mark.color == NEUTRAL else 1.6
            axes.plot(*mark.line, color=own, linewidth=width, label=label)
            label = "_"  # one entry in the legend
        if mark.points is not None:
            axes.scatter(*mark.points, s=POINT_AREA, color=own, label=label, zorder=3)
    dress(axes, facet.x_label, facet.title)
    if facet.rows:
        axes.set_yticks(range(len(facet.rows)), facet.rows if named else [""] * len(facet.rows))
        axes.set_ylim(len(facet.rows) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", color=INK, alpha=0.18, linewidth=0.7)
        axes.locator_params(axis="x", nbins=5)
