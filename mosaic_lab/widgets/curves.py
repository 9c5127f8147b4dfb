"""The arithmetic of the chart: numpy arrays of points in, arrays ready to draw out.

A *curve* is ``(x: float64[n], y: float64[n])`` with x never falling and NaN in y as a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]
GRID_POINTS = 200

# 97.5% quantiles of Student's t for 1 to 30 degrees of freedom.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class Interval(NamedTuple):
    """A mean over runs and its interval on a common grid: float64[m] each. One run has no interval: NaN."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats


def smooth(y: Floats, weight: float) -> Floats:
    """Exponential moving average that forgets its start: weights ``weight**k``, normalised over the points so
    far.

    ``weight`` is in [0, 1); 0 returns y itself. NaN stays NaN and does not move the average.
    """
    if weight <= 0 or len(y) == 0:
        return y
    out = np.empty(len(y))
    total = mass = 0.0
    for index, value in enumerate(y.tolist()):
        if value == value:
            total = weight * total + value
            mass = weight * mass + 1.0
            out[index] = total / mass
        else:
            out[index] = np.nan
    return out


def mean_interval(curves: Sequence[Curve], points: int = GRID_POINTS) -> Interval:
    """Mean over curves with a 95% confidence interval of the mean, where all of them have values.

    Each curve is interpolated linearly on a common grid of ``points`` places, from where the last one begins
    to where the first one ends: every place is the mean of the same runs, so the line never jumps because one
    has dropped out. The interval is Student's: mean ± t(0.975, n−1) · s / √n with s the sample standard
    deviation; NaN for a single curve. Empty where the curves have no place in common.
    """
    curves = [(x[keep], y[keep]) for x, y in curves if (keep := np.isfinite(y)).any()]
    begin, end = max((x[0] for x, _ in curves), default=0.0), min((x[-1] for x, _ in curves), default=-1.0)
    if begin > end:
        empty = np.empty(0)
        return Interval(empty, empty, empty, empty)
    grid = np.linspace(begin, end, points)
    rows = np.stack([np.interp(grid, x, y) for x, y in curves])
    runs, mean = len(rows), rows.mean(axis=0)
    half = np.full(points, np.nan)
    if runs > 1:
        half = student(np.array([runs - 1])) * rows.std(axis=0, ddof=1) / np.sqrt(runs)
    return Interval(grid, mean, mean - half, mean + half)


def student(freedom: NDArray[np.int64]) -> Floats:
    """97.5% quantiles of Student's t; ``freedom`` (int64[n], at least 1) to float64[n]."""
    table = np.asarray(_T)[np.clip(freedom, 1, len(_T)) - 1]
    # Beyond the table the first terms of the Cornish-Fisher expansion are exact to four digits.
    z = 1.959964
    expansion = (
        z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom.astype(float) ** 2)
    )
    return np.where(freedom <= len(_T), table, expansion)


def outline(x: Floats, low: Floats, high: Floats) -> Curve:
    """The closed outline of the band between ``low`` and ``high`` (float64[m] each), gaps left out."""
    keep = np.isfinite(low) & np.isfinite(high)
    x, low, high = x[keep], low[keep], high[keep]
    return np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]])


def positive(y: Floats) -> Floats:
    """What a logarithmic axis can show: values of zero and below become NaN."""
    return np.where(y > 0, y, np.nan)


def stack(curves: Sequence[Curve]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Curves (no empty ones) as two float32[k, n] arrays; short rows repeat their last point.

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
