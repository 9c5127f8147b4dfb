"""The arithmetic of curves: decimation, averages, smoothing, means over runs.

A *curve* is ``(x: float64[n], y: float64[n])``, with non-decreasing x and NaN in y as a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tsdownsample import MinMaxDownsampler

if TYPE_CHECKING:
    from mosaic_lab.evaluation.statistics.curves import LearningCurve

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]
GRID_POINTS = 200

_MIN_MAX = MinMaxDownsampler()  # type: ignore[no-untyped-call]


def smooth(y: Floats, weight: float) -> Floats:
    """Return the exponential moving average with weights ``weight**k``, normalised over the points so far.

    ``weight`` is in [0, 1); 0 returns y itself. NaN stays NaN and does not affect the average.
    """
    if weight <= 0 or not len(y):
        return y
    import pandas as pd  # the import takes a second; a table of runs needs no smoothing

    mean = pd.Series(y).ewm(alpha=1 - weight, ignore_na=True).mean().to_numpy()
    return np.where(np.isnan(y), np.nan, mean)


def mean_over_runs(curves: Sequence[Curve], points: int = GRID_POINTS) -> LearningCurve | None:
    """Return the mean over curves with its 95% interval, over the range where all have values; None if there
    is no such range.

    The interval over runs is defined in `mosaic_lab.evaluation.learning_curve`: a percentile bootstrap over
    runs. Its generator has a fixed seed, so that a redrawn chart shows the same band.
    """
    # Imported here so that charts without a mean do not pay for it.
    from mosaic_lab.evaluation.statistics.curves import learning_curve

    curves = [(x[keep], y[keep]) for x, y in curves if (keep := np.isfinite(y)).any()]
    if not curves or max(x[0] for x, _ in curves) > min(x[-1] for x, _ in curves):
        return None
    return learning_curve(curves, rng=np.random.default_rng(0), points=points)


def averages(curve: Curve, length: int) -> Curve:
    """Return the means over segments of ``length`` points, ignoring gaps; the last segment may be shorter."""
    x, y = curve
    finite = np.isfinite(y)
    if not finite.all():
        x, y = x[finite], y[finite]
    if length <= 1 or not len(y):
        return x, y
    begins = np.arange(0, len(y), length)
    counts = np.diff(begins, append=len(y))
    return np.add.reduceat(x, begins) / counts, np.add.reduceat(y, begins) / counts


def thin(x: Floats, y: Floats, limit: int) -> NDArray[np.intp]:
    """Return the indices of at most ``limit`` points (8 or more) that look like all of them when drawn: each
    interval of x keeps its extremes.

    ``x`` (float64[n]) must be nondecreasing. NaN in ``y`` (float64[n]) is a gap; gaps get at most a quarter
    of the points.
    """
    missing = np.isnan(y)
    if not missing.any():
        room = max(2, (limit - 2) // 2 * 2)
        kept = _extremes(x, y, room) if len(y) > room else np.arange(len(y))
        return np.unique(np.concatenate([[0], kept, [len(y) - 1]]).astype(np.intp))
    gaps = np.flatnonzero(missing & ~np.concatenate([[False], missing[:-1]]))
    if len(gaps) > limit // 4:
        gaps = gaps[np.linspace(0, len(gaps) - 1, limit // 4).astype(np.intp)]
    finite = np.flatnonzero(~missing)
    room = max(2, (limit - len(gaps) - 2) // 2 * 2)
    if len(finite) > room:
        finite = finite[_extremes(x[finite], y[finite], room)]
    return np.unique(np.concatenate([[0], finite, gaps, [len(y) - 1]]).astype(np.intp))


def _extremes(x: Floats, y: Floats, room: int) -> NDArray[np.intp]:
    x = x - x[0]  # large offsets would reduce the precision of the bin edges
    # If x is constant (no episode has ended yet), bin by index instead of x.
    chosen: NDArray[np.uint64] = _MIN_MAX.downsample(*((x, y) if x[-1] > 0 else (y,)), n_out=room)
    return chosen.astype(np.intp)
