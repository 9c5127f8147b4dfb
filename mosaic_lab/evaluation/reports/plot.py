"""Plots as plain data, drawn in a page by widgets and as PNG by `plot_picture`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mosaic_lab.arenas.replays.replaying import Progress
from mosaic_lab.chart_style import (
    DOTS_PER_INCH,
    SAVED_DOTS_PER_INCH,
    SIZE_INCHES,
    THIN_OPACITY,
    color,
    draw_line,
    dress,
    legend,
    new_figure,
    png_of,
)
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.plan import episode_text
from mosaic_lab.evaluation.statistics.resampling import Floats
from mosaic_lab.fastlane.montage import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mosaic_lab.arenas.replays import Replay, Replays

Points = tuple[Floats, Floats]
"""x and y, float64[n] each."""

NEUTRAL = -1
"""The colour of marks without an operator."""
ROW_INCHES, AROUND_ROWS_INCHES = 0.3, 0.9
CAPTION_INCHES, LETTERS = 0.4, 130
"""A picture's caption: its height, and its characters per line."""
POINT_AREA = 22.0
MAX_INCHES = 12.0
"""Maximum height of a picture; rows shrink to fit."""


class EpisodeOf(NamedTuple):
    """An episode on a seed: of one operator, or of two that are compared."""

    operators: tuple[str, ...]
    seed: int
    episode: int = 0

    def __str__(self) -> str:
        return episode_text(" and ".join(self.operators), self.seed, self.episode)


ReplayEpisode = Callable[[EpisodeOf, Callable[[str], None], Progress], "Replay | Replays"]
"""Replays an episode; called with functions that receive an installation's lines and the progress."""


@dataclass(frozen=True, eq=False, slots=True)
class PlotMark:
    """The line, band and points of one operator.

    ``color`` is an index or a colour; ``band`` is a closed outline to fill; ``thin`` are individual lines,
    which are faint if ``line`` is their mean. ``episodes`` are what a click on each point replays, if
    anything.
    """

    label: str
    color: int | str
    line: Points | None = None
    band: Points | None = None
    points: Points | None = None
    thin: tuple[Points, ...] = ()
    episodes: tuple[EpisodeOf, ...] = ()

    @property
    def thin_opacity(self) -> float:
        """The opacity of the individual lines, which may be too faint to read only if there is a mean."""
        return 1.0 if self.line is None else THIN_OPACITY


@dataclass(frozen=True, eq=False, slots=True)
class Facet:
    """One pair of axes. For a categorical y axis, ``rows`` names y = 0, 1, … from the top; each row is
    ``spacing`` times as high as usual."""

    title: str
    x_label: str
    marks: tuple[PlotMark, ...]
    rows: tuple[str, ...] = ()
    spacing: float = 1.0


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Plot:
    """A chart with one or more facets side by side; ``note`` explains how to read it.

    ``rng`` is the seed of the resampling: the same seed gives the same plot. A PNG file has it in its
    metadata, not in the picture. ``has_legend`` is False below another plot with the same colours.
    ``replay`` replays the episodes of its points.
    """

    title: str
    note: str
    facets: tuple[Facet, ...]
    rng: int
    has_legend: bool = True
    replay: ReplayEpisode | None = None

    def names_rows(self, index: int) -> bool:
        """Return whether the facet at ``index`` shows its row names; neighbours with the same rows do not."""
        return index == 0 or self.facets[index].rows != self.facets[0].rows

    def png(self, path: Path | str) -> Path:
        """Write the plot as a PNG file. Raises ConfigurationError for a suffix other than ``.png``."""
        path = Path(path)
        if path.suffix.lower() != ".png":
            raise ConfigurationError(f"a plot must be written as a .png file, not as {path.name!r}")
        path.write_bytes(plot_picture(self, "white", SAVED_DOTS_PER_INCH, captioned=True))
        return path

    def __repr__(self) -> str:
        facets = ", ".join(facet.title for facet in self.facets)
        return f"<Plot {self.title!r}: {facets}; {self.note}; rng={self.rng}>"


def plot_picture(
    plot: Plot, background: str = "none", dots_per_inch: int = DOTS_PER_INCH, captioned: bool = False
) -> bytes:
    """Return the plot as PNG. ``background`` is a colour, or "none" (transparent); ``captioned`` adds the
    title and the note, for a standalone picture."""
    figure = new_figure(dots_per_inch, _height(plot) + (CAPTION_INCHES if captioned else 0.0))
    for index, facet in enumerate(plot.facets):
        axes = figure.add_subplot(1, len(plot.facets), index + 1, facecolor="none")
        _draw(axes, facet, named=plot.names_rows(index))
    if plot.has_legend and any(not facet.rows for facet in plot.facets):
        legend(figure)
    if captioned:
        text = "\n".join([plot.title, *textwrap.wrap(plot.note, LETTERS)])
        figure.suptitle(text, x=0.01, ha="left", color=INK, fontsize=8.5)
    return png_of(figure, background, repr(plot))


def mark_color(mark: PlotMark) -> str:
    """Return the colour of a mark."""
    if isinstance(mark.color, str):
        return mark.color
    return INK if mark.color == NEUTRAL else color(mark.color)


def _height(plot: Plot) -> float:
    if not all(facet.rows for facet in plot.facets):
        return SIZE_INCHES[1]
    tallest = max((len(facet.rows) * facet.spacing for facet in plot.facets), default=0.0)
    return min(MAX_INCHES, AROUND_ROWS_INCHES + ROW_INCHES * tallest) if tallest else SIZE_INCHES[1]


def _draw(axes: Axes, facet: Facet, named: bool) -> None:
    for mark in facet.marks:
        line_color, label = mark_color(mark), mark.label
        width = 0.9 if mark.color == NEUTRAL else 1.6
        style = {"linewidth": width, "label": label}
        draw_line(axes, line_color, mark.line, mark.thin, mark.band, mark.thin_opacity, **style)
        if mark.line is not None:
            label = "_"  # one entry in the legend
        if mark.points is not None:
            axes.scatter(*mark.points, s=POINT_AREA, color=line_color, label=label, zorder=3)
    dress(axes, facet.x_label, facet.title)
    if facet.rows:
        axes.set_yticks(range(len(facet.rows)), facet.rows if named else [""] * len(facet.rows))
        axes.set_ylim(len(facet.rows) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", color=INK, alpha=0.18, linewidth=0.7)
        axes.locator_params(axis="x", nbins=5)
