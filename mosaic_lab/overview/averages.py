"""The arithmetic of curves: averages, smoothing, means over runs.

A *curve* is ``(x: float64[n], y: float64[n])``, with non-decreasing x and NaN in y as a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mosaic_lab.evaluation.statistics.curves import LearningCurve

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]
GRID_POINTS = 200


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
    """Return the mean over curves with its 95% interval, over the range in which all have values; None if
    there is none.

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
