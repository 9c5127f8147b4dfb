"""The arithmetic of curves: averages, smoothing, means over runs.

A *curve* is ``(x: float64[n], y: float64[n])`` with x never falling and NaN in y as a gap.
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

    ``weight`` is in [0, 1); 0 returns y itself. NaN stays NaN and does not move the average.
    """
    if weight <= 0 or not len(y):
        return y
    import pandas as pd  # takes a second: a table of runs smooths nothing

    mean = pd.Series(y).ewm(alpha=1 - weight, ignore_na=True).mean().to_numpy()
    return np.where(np.isnan(y), np.nan, mean)


def mean_over_runs(curves: Sequence[Curve], points: int = GRID_POINTS) -> LearningCurve | None:
    """Return the mean over curves with its 95% interval, where all of them have values; None without such.

    The interval over runs has one definition: `mosaic_lab.evaluation.learning_curve`, a percentile bootstrap
    over runs. Its generator always starts the same, so that a chart drawn again shows the same band.
    """
    # Here, so that a chart without a mean does not pay for the import.
    from mosaic_lab.evaluation.statistics.curves import learning_curve

    curves = [(x[keep], y[keep]) for x, y in curves if (keep := np.isfinite(y)).any()]
    if not curves or max(x[0] for x, _ in curves) > min(x[-1] for x, _ in curves):
        return None
    return learning_curve(curves, rng=np.random.default_rng(0), points=points)


def averages(curve: Curve, length: int) -> Curve:
    """Return the means over stretches of ``length`` points, without gaps; the last may be shorter."""
    x, y = curve
    finite = np.isfinite(y)
    if not finite.all():
        x, y = x[finite], y[finite]
    if length <= 1 or not len(y):
        return x, y
    begins = np.arange(0, len(y), length)
    counts = np.diff(begins, append=len(y))
    return np.add.reduceat(x, begins) / counts, np.add.reduceat(y, begins) / counts
