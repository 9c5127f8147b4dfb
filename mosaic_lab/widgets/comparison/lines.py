"""The chart of a comparison: a line a lane.

What crosses this boundary: a comparison's view in, lines for the chart and its static form out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mosaic_lab.widgets.chart import Line, color


def return_lines(view: Mapping[str, Any]) -> list[Line]:
    """The return after each step of every lane's episode."""
    lines = []
    for lane in view["lanes"]:
        points = np.array(lane["series"], dtype=np.float64).reshape(-1, 2)
        curve = points[:, 0], points[:, 1]
        lines.append(Line(str(lane["index"]), lane["label"], color(lane["index"]), curve))
    return lines
