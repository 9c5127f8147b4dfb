"""The lines of a chart of curves, and how they are sent to a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic_lab.chart_marks import Place
from mosaic_lab.overview.averages import Floats

LARGEST_EXACT = 2.0**24
"""Whole numbers up to it are exact in float32."""


@dataclass(frozen=True, eq=False)
class CurveLine:
    """One line: of a run, or the mean over the runs of a group with its interval.

    ``low`` and ``high`` are the bounds where there are enough runs for an interval; with fewer each run of
    the group has a line of its own, in which ``thin`` is the key of the mean that it is drawn behind.
    ``marks`` are where the stages of a curriculum begin.
    """

    key: str
    runs: tuple[str, ...]
    label: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    thin: str | None = None
    marks: Sequence[Place] = ()


@dataclass(eq=False)
class Curves:
    """The lines of a chart. ``range`` is of all data of these runs on the x axis, in view or not.

    ``read`` is below 1 while more of the runs' files is to be parsed: requested again, the lines are longer.
    ``notes`` say what is not shown, and why.
    """

    x_label: str
    lines: list[CurveLine] = field(default_factory=list)
    range: tuple[float, float] | None = None
    read: float = 1.0
    notes: list[str] = field(default_factory=list)

    def answer(self) -> tuple[dict[str, Any], list[bytes]]:
        """Return what is sent to a page: JSON with the places of the numbers, and these."""
        buffers: list[bytes] = []
        lines = []
        for line in self.lines:
            found: dict[str, Any] = {"key": line.key, "runs": list(line.runs), "label": line.label}
            if line.thin is not None:
                found["thin"] = line.thin
            if line.marks:
                found["marks"] = [place._asdict() for place in line.marks]
            numbers = {"x": line.x, "y": line.y, "low": line.low, "high": line.high}
            for name, column in numbers.items():
                if column is not None:
                    sent = column if name == "x" else _compact(column)
                    found[name] = {"dtype": str(sent.dtype), "length": len(sent)}
                    buffers.append(sent.tobytes())
            lines.append(found)
        content = {"x_label": self.x_label, "lines": lines, "range": self.range}
        return {**content, "read": self.read, "notes": self.notes}, buffers


def _compact(column: Floats) -> NDArray[np.floating]:
    """Return the numbers in float32, unless this would change large whole ones."""
    large = np.nanmax(np.abs(column), initial=0.0) > LARGEST_EXACT
    return column if large else column.astype(np.float32)
