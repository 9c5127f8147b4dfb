"""The lines of a comparison's chart: the return of each lane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mosaic_lab.chart_style import color
from mosaic_lab.widgets.charts.chart import STROKES, Line, Stroke

Y_LABEL = "return"


def lane_stroke(index: int) -> Stroke:
    """Return the stroke of the lane at ``index``: lanes often get the same return for a while."""
    return STROKES[index % len(STROKES)]


def return_lines(view: Mapping[str, Any]) -> list[Line]:
    """Return a line of returns after each step for every lane that has made one in its episode."""
    lines = []
    for lane in view["lanes"]:
        if len(lane["series"]) < 2:  # the start
            continue
        points = np.array(lane["series"], dtype=np.float64).reshape(-1, 2)
        curve = points[:, 0], points[:, 1]
        index = lane["index"]
        lines.append(Line(str(index), lane["label"], color(index), curve, stroke=lane_stroke(index)))
    return lines
