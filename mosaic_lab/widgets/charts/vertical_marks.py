"""Labelled vertical lines of a chart, such as where the stages of a curriculum begin."""

from __future__ import annotations

from collections.abc import Sequence

import bqplot
import numpy as np
from ipywidgets import Widget

from mosaic_lab.chart_marks import LABEL_ROWS, Mark
from mosaic_lab.fastlane.montage import INK


class VerticalMarks:
    """The lines on the x axis of ``x_scale``, over the whole height, all in view."""

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
        """The marks that the figure draws."""
        return [self._lines, self._labels]

    @property
    def widgets(self) -> list[Widget]:
        return [self._lines, self._labels, self._height]

    def draw(self, marks: Sequence[Mark]) -> None:
        """Replace what is drawn."""
        xs, colors = np.array([mark.x for mark in marks]), [mark.color for mark in marks] or [INK]
        with self._lines.hold_sync():
            self._lines.x = np.column_stack([xs, xs]) if len(xs) else np.empty(0)
            self._lines.y = np.tile([0.0, 1.0], (len(xs), 1)) if len(xs) else np.empty(0)
            self._lines.colors, self._lines.opacities = colors, [0.6] * len(colors)
        with self._labels.hold_sync():
            self._labels.x, self._labels.y = xs, 1.0 - 0.06 * (np.arange(len(xs)) % LABEL_ROWS)
            self._labels.text, self._labels.colors = [mark.label for mark in marks], colors

    def send_again(self) -> None:
        """Send what is drawn once more."""
        self._lines.send_state(("x", "y"))
        self._labels.send_state(("x", "y", "text", "colors"))
