"""Intervals of a user-defined statistic, by `scipy.stats.bootstrap`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from inspect import signature
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.statistics import resampling
from mosaic_lab.evaluation.statistics.resampling import (
    CONFIDENCE,
    RESAMPLES,
    Estimate,
    Floats,
    Ints,
    read_numbers,
)

Interval = Literal["percentile", "bca"]
Statistic = Callable[[Floats], float]

_METHODS = {"percentile": "percentile", "bca": "BCa"}
_CELLS = 1 << 20  # indices drawn at once


def statistic(
    scores: ArrayLike | Sequence[ArrayLike],
    function: Statistic,
    *,
    rng: np.random.Generator,
    interval: Interval = "percentile",
    resample_tasks: bool = False,
    each_task: bool = False,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return a statistic of scores with its bootstrap interval.

    ``scores`` is (runs,), or (runs, tasks) with the same number of runs for each task; ``function`` maps an
    array of that shape to a number. With ``each_task``, it maps the scores of one task, (runs,), and the
    statistic is its mean over tasks; ``scores`` may then also be a list of arrays of different lengths, one
    for each task. Runs are resampled within each task (the stratified bootstrap of Agarwal et al. 2021);
    with ``resample_tasks``, tasks are resampled too, for intervals that extend to similar tasks.
    ``interval`` is "percentile" or, for one task or ``each_task``, "bca": bias-corrected and accelerated
    (Efron 1987), for skewed statistics. BCa bounds are NaN where they are undefined, as for equal scores; all
    bounds are NaN for a single run. ``function`` is called for each resample and, for "bca", with each run
    left out; one with an argument ``axis``, such as `numpy.std`, is called for many at once.

    Raises ConfigurationError for other shapes, scores that are not finite, a ``function`` that does not
    return a finite number, "bca" for several tasks at once, and ``resample_tasks`` for one task or tasks of
    different lengths.
    """
    from scipy.stats import DegenerateDataWarning, bootstrap

    resampling.check_resampling(rng, resamples, confidence)
    tasks, flat = _tasks(scores, each_task)
    if interval not in get_args(Interval):
        raise ConfigurationError(f'interval={interval!r}: must be "percentile" or "bca"')
    if interval == "bca" and len(tasks) > 1 and not each_task:
        raise ConfigurationError(
            'interval="bca" is for the scores of one task, or a statistic of each task; "percentile" is for '
            "several at once"
        )
    lengths = {len(task) for task in tasks}
    if resample_tasks and (len(tasks) == 1 or len(lengths) > 1):
        raise ConfigurationError("resample_tasks=True needs scores of several tasks, (runs, tasks)")

    vectorised = (flat or each_task) and _is_vectorised(function, tasks[0])

    def of_resamples(*draws: Ints, axis: int = -1) -> Floats:
        """Return the statistic of each resample. SciPy passes ``axis``, which is always the last."""
        columns = _columns(tasks, draws)
        if each_task:
            total = reduce(np.add, (_values(function, column, 1, vectorised) for column in columns))
            return np.asarray(total / len(tasks))
        if flat:
            return _values(function, columns[0], 1, vectorised)
        return _values(function, np.stack(columns, axis=-1), 2, vectorised)

    indices = [np.arange(len(task)) for task in tasks] + ([np.arange(len(tasks))] if resample_tasks else [])
    value = float(of_resamples(*indices))
    if min(lengths) < 2:
        return Estimate(value, math.nan, math.nan, confidence)
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)
        bounds = bootstrap(
            indices,
            of_resamples,
            n_resamples=resamples,
            batch=max(1, _CELLS // max(lengths)),
            vectorized=True,
            confidence_level=confidence,
            method=_METHODS[interval],
            rng=rng,
        ).confidence_interval
    return Estimate(value, float(bounds.low), float(bounds.high), confidence)


def _tasks(scores: ArrayLike | Sequence[ArrayLike], each_task: bool) -> tuple[list[Floats], bool]:
    """Return the scores of each task, and whether they were given as a bare array for one task."""
    if each_task and isinstance(scores, Sequence) and all(map(np.ndim, scores)):
        tasks = [read_numbers(task, f"scores, task {number}") for number, task in enumerate(scores)]
        if tasks and all(task.ndim == 1 and task.size for task in tasks):
            return tasks, False
        shapes = [task.shape for task in tasks]
    else:
        values = read_numbers(scores, "scores")
        if values.ndim in (1, 2) and values.size:
            return [*values.reshape(len(values), -1).T], values.ndim == 1
        shapes = [values.shape]
    raise ConfigurationError(
        f"scores: the shape must be (runs,) or (runs, tasks), not {', '.join(map(str, shapes))}"
    )


def _columns(tasks: Sequence[Floats], draws: Sequence[Ints]) -> list[Floats]:
    """Return the scores of each task in each resample, [..., runs], by the indices drawn: of runs for each
    task and, if tasks were drawn too, of tasks."""
    if len(draws) > len(tasks):
        stacked, chosen = np.stack(tasks), draws[-1]
        return [stacked[chosen[..., [column]], runs] for column, runs in enumerate(draws[:-1])]
    return [task[runs] for task, runs in zip(tasks, draws, strict=True)]


def _values(function: Statistic, scores: Floats, axes: int, vectorised: bool) -> Floats:
    """Return the statistic over the last ``axes`` of scores."""
    if not vectorised:
        rows = scores.reshape(-1, *scores.shape[-axes:])
        return np.array([_number(function, row) for row in rows]).reshape(scores.shape[:-axes])
    values = np.asarray(function(scores, axis=-1), np.float64)  # type: ignore[call-arg]
    if not (finite := np.isfinite(values)).all():
        _number(function, scores[~finite][0])
    return values


def _is_vectorised(function: Statistic, scores: Floats) -> bool:
    """Return whether ``function`` has an argument ``axis`` and maps many arrays of scores at once with it."""
    try:
        if "axis" not in signature(function).parameters:
            return False
        results = np.asarray(function(np.stack([scores, scores]), axis=-1))  # type: ignore[call-arg]
    except Exception:  # whatever a function for single arrays may raise
        return False
    return results.shape == (2,) and np.allclose(results, _number(function, scores))


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
