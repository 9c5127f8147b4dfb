"""Intervals of a statistic of one's own, by `scipy.stats.bootstrap`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.statistics import resampling
from mosaic_lab.evaluation.statistics.resampling import CONFIDENCE, RESAMPLES, Estimate
from mosaic_lab.evaluation.statistics.scores import Floats, Ints, read_numbers

Interval = Literal["percentile", "bca"]
Statistic = Callable[[Floats], float]

_METHODS = {"percentile": "percentile", "bca": "BCa"}
_CELLS = 1 << 20  # indices drawn at once


def statistic(
    scores: ArrayLike,
    function: Statistic,
    *,
    rng: np.random.Generator,
    interval: Interval = "percentile",
    resample_tasks: bool = False,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return a statistic of scores with its bootstrap interval.

    ``scores`` is (runs,), or (runs, tasks) with the same number of runs of each task; ``function`` maps an
    array of that shape to a number. Runs are resampled within each task (the stratified bootstrap of Agarwal
    et al. 2021); with ``resample_tasks``, tasks too, for intervals that extend to other tasks like these.
    ``interval`` is "percentile" or, for scores of one task, "bca": bias-corrected and accelerated (Efron
    1987), for skewed statistics. BCa bounds are NaN where they are undefined, as for equal scores; all bounds
    are NaN for a single run.

    Raises ConfigurationError for other shapes, scores that are not finite, a ``function`` that does not
    return a finite number, and "bca" for several tasks.
    """
    from scipy.stats import DegenerateDataWarning, bootstrap

    resampling.check(rng, resamples, confidence)
    values = read_numbers(scores, "scores")
    if values.ndim not in (1, 2) or not values.size:
        raise ConfigurationError(f"scores: the shape must be (runs,) or (runs, tasks), not {values.shape}")
    if interval not in get_args(Interval):
        raise ConfigurationError(f'interval={interval!r}: must be "percentile" or "bca"')
    several = values.ndim == 2 and values.shape[1] > 1
    if interval == "bca" and several:
        raise ConfigurationError('interval="bca" is for the scores of one task; "percentile" is for several')
    if resample_tasks and not several:
        raise ConfigurationError("resample_tasks=True needs scores of several tasks, (runs, tasks)")
    value = _number(function, values)
    if len(values) < 2:
        return Estimate(value, math.nan, math.nan, confidence)
    runs, tasks = len(values), values[0].size
    table = values.reshape(runs, tasks)

    def of_resample(*drawn: Ints) -> float:
        columns = drawn[tasks] if resample_tasks else np.arange(tasks)
        resample = table[np.stack(drawn[:tasks], axis=1), columns]
        return _number(function, resample if values.ndim == 2 else resample[:, 0])

    indices = [np.arange(runs)] * tasks + ([np.arange(tasks)] if resample_tasks else [])
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)
        bounds = bootstrap(
            indices,
            of_resample,
            n_resamples=resamples,
            batch=max(1, _CELLS // runs),
            vectorized=False,
            confidence_level=confidence,
            method=_METHODS[interval],
            rng=rng,
        ).confidence_interval
    return Estimate(value, float(bounds.low), float(bounds.high), confidence)


def _number(function: Statistic, scores: Floats) -> float:
    try:
        number = float(function(scores))
    except TypeError as error:
        raise ConfigurationError(
            f"the statistic must return a number for an array of scores: {error}"
        ) from None
    if not math.isfinite(number):
        raise ConfigurationError(f"the statistic returned {number} for scores such as {scores.ravel()[:3]}")
    return number
