"""The style shared by charts in the page and charts in pictures, and the marks of curricula's stages.

Pictures are drawn by matplotlib without pyplot, imported at the first call. This is safe in any thread and
leaves the user's own figures unchanged.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mosaic_lab.fastlane.montage import INK
from mosaic_lab.number_format import number, tick_texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Points = tuple[Floats, Floats]

PALETTE = (
    *("#3f7fe0", "#e5812b", "#35a06b", "#9b6bd3", "#d9534f", "#2aa3b3", "#d66fa3", "#a0922e"),
    *("#6f83a8", "#b0714a", "#5fae3d", "#7a5fc0", "#c2453c", "#3b8f9c", "#b356b0", "#8a8f3c"),
)
"""Colours that are distinct on white and near-black backgrounds; repeated if there are more lines."""
THIN_OPACITY = 0.35
BAND_OPACITY = 0.2
SIZE_INCHES = (8.6, 2.9)
DOTS_PER_INCH = 120
SAVED_DOTS_PER_INCH = 220
MAX_LEGEND_LABELS = 12
LEGEND_COLUMNS = 4
LEGEND_LETTERS = 120
"""Maximum characters per row, with space for the line samples between the names."""
LABEL_ROWS = 3
"""Number of label rows, used in turn so that labels of neighbouring lines do not overlap."""
MAX_MARKED = 4
"""Maximum number of curves with their own marks; more could not be distinguished."""


def color(index: int) -> str:
    """Return the colour of the entry at ``index``."""
    return PALETTE[index % len(PALETTE)]


def outline(x: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats] | None:
    """Return the closed outline of the band between ``low`` and ``high`` (float64[m] each) without gaps; None
    if there is no band.
    """
    finite = np.isfinite(low) & np.isfinite(high)
    if not finite.any():
        return None
    x, low, high = x[finite], low[finite], high[finite]
    return np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]])


def new_figure(dots_per_inch: int, height: float = SIZE_INCHES[1]) -> Figure:
    """Return an empty figure of the usual width; ``height`` is in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SIZE_INCHES[0], height), dpi=dots_per_inch, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def png_of(figure: Figure, background: str = "none", description: str | None = None) -> bytes:
    """Return a figure as PNG. ``background``: a colour, or "none" (transparent)."""
    buffer = io.BytesIO()
    metadata = {"Description": description} if description else None
    figure.savefig(buffer, format="png", facecolor=background, metadata=metadata)
    return buffer.getvalue()


def svg_of(figure: Figure, background: str) -> bytes:
    """Return a figure as SVG. ``background``: a colour, or "none" (transparent)."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", facecolor=background, metadata={"Date": None})
    return buffer.getvalue()


def draw_line(
    axes: Axes,
    color: str,
    line: Points | None,
    thin: Iterable[Points] = (),
    band: Points | None = None,
    thin_opacity: float = THIN_OPACITY,
    **style: Any,
) -> None:
    """Draw a line, the band around it (a closed outline), and the thin lines behind it. ``style`` is
    matplotlib's, for the line itself. A single point is drawn as a dot."""
    if band is not None:
        axes.fill(*band, color=color, alpha=BAND_OPACITY, linewidth=0)
    for points in thin:
        axes.plot(*points, color=color, alpha=thin_opacity, linewidth=0.8)
    if line is not None:
        axes.plot(*line, color=color, marker="o" if len(line[0]) == 1 else "", **style)


def dress(axes: Axes, x_label: str, title: str) -> None:
    """Apply the common style to a pair of axes."""
    from matplotlib.ticker import Formatter

    class TickFormatter(Formatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return number(x)

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return tick_texts(values)

    axes.set_xlabel(x_label, loc="right", color=INK, fontsize=8.5)
    axes.set_title(title, loc="left", color=INK, fontsize=9.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(TickFormatter())
    axes.tick_params(colors=INK, labelsize=8.5, length=3)
    axes.grid(axis="y", color=INK, alpha=0.18, linewidth=0.7)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)
        spine.set_alpha(0.5)


def legend(figure: Figure) -> None:
    """Add a legend for the labelled lines of all axes, without duplicates, below the figure."""
    labelled = [pair for axes in figure.axes for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    named = {label: handle for handle, label in reversed(labelled)}
    labels = list(dict.fromkeys(label for _, label in labelled))
    handles = [named[label] for label in labels]
    if len(labels) > MAX_LEGEND_LABELS:
        last = f"{labels[MAX_LEGEND_LABELS - 1]} … {len(labels)} in total"
        handles, labels = handles[:MAX_LEGEND_LABELS], [*labels[: MAX_LEGEND_LABELS - 1], last]
    columns = LEGEND_LETTERS // (max(map(len, labels), default=0) + 6)
    figure.legend(
        handles,
        labels,
        loc="outside lower left",
        ncols=min(max(columns, 1), LEGEND_COLUMNS),
        fontsize=8.5,
        frameon=False,
        labelcolor=INK,
        handlelength=1.4,
    )


class MarkPosition(NamedTuple):
    """A labelled position on the x axis of one curve."""

    x: float
    label: str


class Mark(NamedTuple):
    """A vertical line of a chart."""

    x: float
    label: str
    color: str = INK


def marks_of(curves: Iterable[tuple[str, Sequence[MarkPosition]]]) -> list[Mark]:
    """Return the marks of a chart's curves, given by their colours and positions.

    Positions shared by all curves that have any are drawn in ink, others in the colour of their curve. If
    more than `MAX_MARKED` curves have positions, only the shared ones are marked. `marksOf` in
    `js/src/views/charts/marks.ts` does the same.
    """
    own_positions = [(color, dict.fromkeys(positions)) for color, positions in curves if positions]
    if not own_positions:
        return []
    shared = [
        position
        for position in own_positions[0][1]
        if all(position in positions for _, positions in own_positions)
    ]
    marks = [Mark(*position) for position in shared]
    if len(own_positions) <= MAX_MARKED:
        marks += [
            Mark(*position, color)
            for color, positions in own_positions
            for position in positions
            if position not in shared
        ]
    return sorted(marks)


def mean_positions(curves: Sequence[Sequence[MarkPosition]]) -> tuple[MarkPosition, ...]:
    """Return the positions of the mean over curves: those common to all curves, at the mean of their x."""
    labelled = [{position.label: position.x for position in positions} for positions in curves]
    labels = [label for label in labelled[0] if all(label in by_label for by_label in labelled)]
    return tuple(
        MarkPosition(sum(by_label[label] for by_label in labelled) / len(labelled), label) for label in labels
    )


def draw_marks(axes: Axes, marks: Sequence[Mark], scale: float = 1.0) -> None:
    """Draw full-height lines at ``scale`` times their x, with their labels in rows at the top."""
    for index, (x, label, color) in enumerate(marks):
        axes.axvline(x * scale, color=color, alpha=0.6, linewidth=0.8, linestyle="dashed", zorder=1)
        axes.annotate(
            label,
            (x * scale, 1.0),
            (3, -2 - 9 * (index % LABEL_ROWS)),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            annotation_clip=True,
            va="top",
            color=color,
            fontsize=7.5,
        )
