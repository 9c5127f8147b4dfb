"""Performance profiles and learning curves, with pointwise intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.statistics import resampling
from mosaic_lab.evaluation.statistics.resampling import (
    CONFIDENCE,
    RESAMPLES,
    Floats,
    Scores,
    read_numbers,
    read_scores,
)

MIN_RUNS = 5
"""Minimum number of runs for which charts show an interval. With fewer, they show each run beside the
average, because resamples of so few runs say little about the spread."""

POINTS = 200
"""Default number of points of a learning curve."""


@dataclass(frozen=True, eq=False, slots=True)
class Profile:
    """The share of scores above each threshold; all arrays are float64[thresholds]."""

    thresholds: Floats
    share: Floats
    low: Floats
    high: Floats


def performance_profile(
    scores: Scores,
    thresholds: ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Profile:
    """Return the score distribution: the share of scores above each threshold, with a pointwise interval.

    ``scores`` are as in `Scores`, with all tasks of equal weight; ``thresholds`` is (m,). This is the
    "run-score distribution" of Agarwal et al. 2021, with percentile intervals of the stratified bootstrap.
    Bounds are NaN if a task has a single episode (or run). Raises ConfigurationError for missing or
    non-finite scores or thresholds.
    """
    resampling.check_resampling(rng, resamples, confidence)
    sample = read_scores(scores, "scores")
    grid = _grid(thresholds, "thresholds")
    size = len(sample.values)
    at_most = np.searchsorted(sample.values, grid, "right")
    shares = []
    for counts in resampling.original_and_resamples(rng, sample.units, resamples, size):
        mass = np.zeros((len(counts), size + 1))
        mass[:, 1:] = sample.mass(counts)
        shares.append(np.clip(1.0 - mass[:, at_most] / size, 0.0, 1.0))
    profiles = np.concatenate(shares)
    low, high = resampling.bounds(profiles[1:], confidence, sample.units)
    return Profile(grid, profiles[0], low, high)


@dataclass(frozen=True, eq=False, slots=True)
class LearningCurve:
    """An average over training runs at each step; arrays are float64[points]."""

    steps: Floats
    value: Floats
    low: Floats
    high: Floats
    runs: int
    outside: int
    """Number of recorded points outside the steps common to all runs, which the curve omits."""


def learning_curve(
    runs: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    rng: np.random.Generator,
    steps: ArrayLike | None = None,
    points: int = POINTS,
    average: Literal["mean", "iqm"] = "mean",
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> LearningCurve:
    """Return the average of training runs (seeds) over steps, with a pointwise percentile interval over runs.

    ``runs`` is [(steps, values)], two arrays (n,) per run, with non-decreasing steps; values at the same step
    are averaged. Each run is interpolated linearly at ``steps`` (m,); default: ``points`` evenly spaced steps
    covered by all runs. Runs are never extrapolated, so every point averages the same number of runs.
    ``average`` is the mean or the interquartile mean over runs (Agarwal et al. 2021, sample efficiency
    curves). The bounds of a single run are NaN.

    Raises ConfigurationError for no runs, runs without common steps, ``steps`` outside the common ones,
    decreasing steps and non-finite values.
    """
    resampling.check_resampling(rng, resamples, confidence)
    if average not in _AVERAGES:
        raise ConfigurationError(f"average must be 'mean' or 'iqm', not {average!r}")
    read = [_run(*run, f"run {index}") for index, run in enumerate(runs)]
    if not read:
        raise ConfigurationError("there are no runs; pass [(steps, values), ...]")
    first, last = max(x[0] for x, _ in read), min(x[-1] for x, _ in read)
    if first > last:
        raise ConfigurationError(
            f"the runs have no steps in common: one begins at step {first:g}, another ends at {last:g}"
        )
    grid = _common(first, last, points) if steps is None else _grid(steps, "steps")
    if grid.min() < first or grid.max() > last:
        raise ConfigurationError(
            f"steps {grid.min():g} to {grid.max():g} are requested, but only {first:g} to {last:g} are "
            "covered by all runs; nothing is extrapolated"
        )
    values = np.stack([np.interp(grid, x, y) for x, y in read])
    outside = sum(int(np.sum((x < first) | (x > last))) for x, _ in read)
    replicates = _resampled(values, rng, resamples, average)
    # An average lies between the values; rounding must not move a bound beyond them.
    low, high = np.clip(
        resampling.bounds(replicates, confidence, [len(read)]), values.min(axis=0), values.max(axis=0)
    )
    return LearningCurve(grid, _AVERAGES[average](values[None])[0], low, high, len(read), outside)


def _mean(values: Floats) -> Floats:
    mean: Floats = values.mean(axis=1)
    return mean


def _interquartile_mean(values: Floats) -> Floats:
    """Return the mean over axis 1, without n // 4 of n values at either end."""
    cut = values.shape[1] // 4
    return _mean(np.sort(values, axis=1)[:, cut : values.shape[1] - cut])


_AVERAGES = {"mean": _mean, "iqm": _interquartile_mean}


def _resampled(values: Floats, rng: np.random.Generator, resamples: int, average: str) -> Floats:
    """Return averages of whole runs drawn with replacement: float64[resamples, points]."""
    count = len(values)
    values = values[np.lexsort(values.T[::-1])]  # makes the result independent of the order of runs
    means = np.empty((resamples, values.shape[1]))
    for block in resampling.blocks(resamples, values.size):
        indices = rng.integers(0, count, size=(block.stop - block.start, count))
        means[block] = _AVERAGES[average](values[indices])
    return means


def _common(first: float, last: float, points: int) -> Floats:
    if not isinstance(points, int | np.integer) or points < 1:
        raise ConfigurationError(f"points must be an integer of at least 1, not {points!r}")
    return np.linspace(first, last, int(points)) if last > first else np.array([first])


def _grid(numbers: ArrayLike, name: str) -> Floats:
    grid = read_numbers(numbers, name)
    if grid.ndim != 1 or grid.size == 0:
        raise ConfigurationError(f"{name}: must be a non-empty array of one dimension, not {grid.shape}")
    return grid


def _run(steps: ArrayLike, values: ArrayLike, name: str) -> tuple[Floats, Floats]:
    """Return a run's distinct steps and the mean value at each."""
    x, y = read_numbers(steps, f"{name}, steps"), read_numbers(values, f"{name}, values")
    if x.ndim != 1 or x.shape != y.shape or x.size == 0:
        raise ConfigurationError(
            f"{name}: steps and values must be non-empty arrays of equal length; "
            f"their shapes are {x.shape} and {y.shape}"
        )
    falls = np.flatnonzero(np.diff(x) < 0)
    if len(falls):
        i = falls[0]
        raise ConfigurationError(
            f"{name}: steps must not decrease, but fall from {x[i]:g} to {x[i + 1]:g} (position {i + 1})"
        )
    unique, index = np.unique(x, return_inverse=True)
    return unique, np.bincount(index, y) / np.bincount(index)
