"""The points of a chart's marks, as NumPy arrays.

A *curve* is ``(x: float64[n], y: float64[n])`` with x never falling and NaN in y as a gap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mosaic_lab.overview.averages import Curve, Floats


def positive(y: Floats) -> Floats:
    """Return what a logarithmic axis can show: values of zero and below become NaN."""
    return np.where(y > 0, y, np.nan)


def stack(curves: Sequence[Curve]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return curves (no empty ones) as two float32[k, n] arrays; short rows repeat their last point.

    n is at least 2: bqplot would take a column for a row.
    """
    length = max((len(x) for x, _ in curves), default=0)
    length = max(length, 2) if curves else 0
    xs = np.empty((len(curves), length), np.float32)
    ys = np.empty((len(curves), length), np.float32)
    for row, (x, y) in enumerate(curves):
        xs[row, : len(x)], ys[row, : len(y)] = x, y
        xs[row, len(x) :], ys[row, len(y) :] = x[-1], y[-1]
    return xs, ys
