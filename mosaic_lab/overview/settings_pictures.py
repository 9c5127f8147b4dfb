"""Pictures of runs by settings and results: parallel coordinates and a scatter plot.

They correspond to `js/src/views/workspace/parallel.tsx` and `scatter.tsx` on the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mosaic_lab.chart_style import DOTS_PER_INCH, dress, new_figure, png_of
from mosaic_lab.fastlane.montage import INK
from mosaic_lab.number_format import setting_text, tick_texts
from mosaic_lab.overview.curves import setting
from mosaic_lab.overview.results import RunResults
from mosaic_lab.overview.rows import RunRow
from mosaic_lab.runs import Run
from mosaic_lab.text_table import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_FROM = 9.99
"""Ratio of the maximum to the minimum value from which a scale is logarithmic."""
FEW_NUMBERS = 6
MAX_CHARS = 16
MAX_TICKS = 8
_HEIGHT = 3.4  # inches
_TITLES = {"last_return": "last return", "best_return": "best return", "speed": "steps/s", "step": "steps"}


@dataclass(frozen=True)
class PicturedRun:
    """A run with its row, its results and its colour on the page."""

    run: Run
    row: RunRow
    results: RunResults
    color: str

    def value(self, name: str) -> Any:
        """Return a setting or, if the run has no such setting, a result; None if it has neither."""
        value = setting(self.run, name)
        if value is None and name in ("last_return", "best_return", "duration", "speed", "step", "episodes"):
            return getattr(self.row, name)
        return self.results.last.get(name) if value is None else value


@dataclass(frozen=True)
class Scale:
    """Maps axis values to [0, 1]; categorical or numeric."""

    texts: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    numbers: tuple[float, ...] = ()
    """The distinct values, if there are few."""

    def position(self, value: Any) -> float | None:
        """Return the position of a value; None if it is not on the axis."""
        if value is None:
            return None
        if self.texts:
            text = _text(value)
            return self.texts.index(text) / max(1, len(self.texts) - 1) if text in self.texts else None
        if not _is_number(value):
            return None
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low) if value > 0 else None
        return float((value - self.low) / (self.high - self.low))

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The positions of the ticks, with their labels."""
        if self.texts:
            step = -(-len(self.texts) // MAX_TICKS)
            labelled = self.texts[::step]
            return [(self.position(text) or 0.0, shortened(text, MAX_CHARS)) for text in labelled]
        if self.numbers:
            return [(self.position(value) or 0.0, setting_text(value)) for value in self.numbers]
        middle = math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2
        ticks = (self.low, middle, self.high)
        return [
            (self.position(tick) or 0.0, text) for tick, text in zip(ticks, tick_texts(ticks), strict=True)
        ]


def scale_of(values: Sequence[Any]) -> Scale:
    """Return a scale for these values: logarithmic for positive numbers over several orders of magnitude."""
    defined = [value for value in values if value is not None]
    if not defined or not all(map(_is_number, defined)):
        return Scale(texts=tuple(sorted({_text(value) for value in defined})) or ("–",))
    low, high = min(defined), max(defined)
    different = tuple(sorted(set(defined)))
    numbers = different if len(different) <= FEW_NUMBERS else ()
    if low == high:
        half = abs(low) * 0.05 or 0.5
        return Scale(low=low - half, high=high + half, numbers=numbers)
    return Scale(low=low, high=high, log=low > 0 and high / low >= LOG_FROM, numbers=numbers)


def differing_names(runs: Sequence[PicturedRun]) -> list[str]:
    """Return the names of the settings in which these runs differ, the common ones first."""
    common = ("worker", "algorithm", "env", "seed")
    names = dict.fromkeys(
        (*common, *sorted({name for pictured in runs for name in pictured.run.hyperparameters}))
    )
    values = {name: [setting(pictured.run, name) for pictured in runs] for name in names}
    return [name for name in names if len({repr(value) for value in values[name] if value is not None}) > 1]


def parallel_picture(runs: Sequence[PicturedRun], names: Sequence[str]) -> bytes:
    """Return parallel coordinates as PNG: a line per run through its values of ``names``, the last of which
    is the result."""
    figure = new_figure(DOTS_PER_INCH, _HEIGHT)
    axes = figure.add_subplot(facecolor="none")
    scales = [scale_of([pictured.value(name) for pictured in runs]) for name in names]
    for pictured in runs:
        positions = [scale.position(pictured.value(name)) for name, scale in zip(names, scales, strict=True)]
        points = [(index, position) for index, position in enumerate(positions) if position is not None]
        axes.plot(*zip(*points, strict=True), color=pictured.color, alpha=0.8, linewidth=1)
    for index, scale in enumerate(scales):
        axes.axvline(index, color=INK, linewidth=0.8)
        for height, text in scale.ticks:
            axes.annotate(text, (index, height), (4, 2), textcoords="offset points", color=INK, fontsize=7.5)
    axes.set_xticks(range(len(names)), [shortened(_TITLES.get(name, name), MAX_CHARS) for name in names])
    axes.set_xlim(-0.1, len(names) - 0.6)
    axes.tick_params(colors=INK, labelsize=8.5, length=0)
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    return png_of(figure)


def scatter_picture(runs: Sequence[PicturedRun], x: str, y: str) -> bytes:
    """Return a scatter plot as PNG: a point per run, setting ``x`` against result ``y``."""
    figure = new_figure(DOTS_PER_INCH, _HEIGHT)
    axes = figure.add_subplot(facecolor="none")
    scale = scale_of([pictured.value(x) for pictured in runs])
    for pictured in runs:
        x_position, y_value = scale.position(pictured.value(x)), pictured.value(y)
        if x_position is not None and _is_number(y_value):
            axes.plot(x_position, y_value, "o", color=pictured.color, alpha=0.85, markersize=5)
    dress(axes, x, _TITLES.get(y, y))
    _label(axes, scale)
    return png_of(figure)


def _label(axes: Axes, scale: Scale) -> None:
    axes.set_xticks([position for position, _ in scale.ticks], [text for _, text in scale.ticks])
    axes.set_xlim(-0.05, 1.05)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else setting_text(value)
