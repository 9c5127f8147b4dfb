"""Performance profiles and learning curves, with pointwise intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.statistics import resampling
from mosaic_lab.evaluation.statistics.resampling import CONFIDENCE, RESAMPLES
from mosaic_lab.evaluation.statistics.scores import Floats, Scores, read_numbers, read_scores

FEWEST_RUNS = 5
"""The fewest runs whose interval charts show; below it they show each run beside the average, since resamples
of so few say little about the spread."""

POINTS = 200
"""Points of a learning curve unless the caller says otherwise."""


@dataclass(frozen=True, eq=False, slots=True)
class Profile:
    """The share of scores above each threshold; all arrays float64[thresholds]."""

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
    """Return the score distribution: for each threshold the share of scores above it, with a pointwise
    interval.

    ``scores``: see `Scores`; each task weighs the same. ``thresholds`` is (m,). The "run-score distribution"
    of Agarwal et al. 2021 with percentile intervals of the stratified bootstrap; NaN bounds where a task has
    only one episode (or run). Raises ConfigurationError for scores or thresholds that are not finite, and
    where there are none.
    """
    resampling.check(rng, resamples, confidence)
    sample = read_scores(scores, "scores")
    grid = _grid(thresholds, "thresholds")
    size = len(sample.values)
    at_most = np.searchsorted(sample.values, grid, "right")
    shares = []
    for counts in resampling.original_and_resamples(rng, sample.units, resamples, size):
        mass = np.zeros((len(counts), size + 1))
        mass[:, 1:] = sample.mass(counts)
        shares.append(np.clip(1.0 - mass[:, at_most] / size, 0.0, 1.0))
    found = np.concatenate(shares)
    low, high = resampling.bounds(found[1:], confidence, sample.units)
    return Profile(grid, found[0], low, high)


@dataclass(frozen=True, eq=False, slots=True)
class LearningCurve:
    """An average over training runs at each step; arrays float64[points]."""

    steps: Floats
    value: Floats
    low: Floats
    high: Floats
    runs: int
    outside: int
    """Recorded points before the last run's first step or after the first run's last: on no curve."""


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

    ``runs`` is [(steps, values)], two arrays (n,) for each run, steps never falling; values at one and the
    same step are averaged. Each run is interpolated linearly at ``steps`` (m,); without these at ``points``
    evenly spread steps which all runs cover. Nothing is extrapolated, so no point is the average of fewer
    runs than the others. ``average`` is the mean or the interquartile mean over runs (Agarwal et al. 2021,
    sample efficiency curves). One run has NaN bounds.

    Raises ConfigurationError for no runs, runs without common steps, ``steps`` outside of them, falling steps
    and values that are not finite.
    """
    resampling.check(rng, resamples, confidence)
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
            f"steps {grid.min():g} to {grid.max():g} are requested, but all runs together cover {first:g} to "
            f"{last:g} only; nothing is extrapolated"
        )
    values = np.stack([np.interp(grid, x, y) for x, y in read])
    outside = sum(int(np.sum((x < first) | (x > last))) for x, _ in read)
    replicates = _resampled(values, rng, resamples, average)
    # An average of values lies among them; rounding must not carry a bound beyond.
    low, high = np.clip(
        resampling.bounds(replicates, confidence, [len(read)]), values.min(axis=0), values.max(axis=0)
    )
    return LearningCurve(grid, _AVERAGES[average](values[None])[0], low, high, len(read), outside)


def _mean(values: Floats) -> Floats:
    mean: Floats = values.mean(axis=1)
    return mean


def _interquartile_mean(values: Floats) -> Floats:
    """Over axis 1, without len // 4 values at either end."""
    cut = values.shape[1] // 4
    return _mean(np.sort(values, axis=1)[:, cut : values.shape[1] - cut])


_AVERAGES = {"mean": _mean, "iqm": _interquartile_mean}


def _resampled(values: Floats, rng: np.random.Generator, resamples: int, average: str) -> Floats:
    """Averages of whole runs drawn with replacement: float64[resamples, points]."""
    count = len(values)
    values = values[np.lexsort(values.T[::-1])]  # the order in which runs were given does not matter
    found = np.empty((resamples, values.shape[1]))
    for block in resampling.blocks(resamples, values.size):
        drawn = rng.integers(0, count, size=(block.stop - block.start, count))
        found[block] = _AVERAGES[average](values[drawn])
    return found


def _common(first: float, last: float, points: int) -> Floats:
    if not isinstance(points, int | np.integer) or points < 1:
        raise ConfigurationError(f"points must be a whole number of at least 1, not {points!r}")
    return np.linspace(first, last, int(points)) if last > first else np.array([first])


def _grid(numbers: ArrayLike, what: str) -> Floats:
    grid = read_numbers(numbers, what)
    if grid.ndim != 1 or grid.size == 0:
        raise ConfigurationError(f"{what}: an array of one dimension with numbers in it, not {grid.shape}")
    return grid


def _run(steps: ArrayLike, values: ArrayLike, what: str) -> tuple[Floats, Floats]:
    """Steps of one run, each once, and the mean of the values at each."""
    x, y = read_numbers(steps, f"{what}, steps"), read_numbers(values, f"{what}, values")
    if x.ndim != 1 or x.shape != y.shape or x.size == 0:
        raise ConfigurationError(
            f"{what}: steps and values must be two arrays of one and the same length, one at least; "
            f"these have shapes {x.shape} and {y.shape}"
        )
    falls = np.flatnonzero(np.diff(x) < 0)
    if len(falls):
        at = falls[0]
        raise ConfigurationError(f"{what}: steps fall from {x[at]:g} to {x[at + 1]:g} (position {at + 1})")
    unique, index = np.unique(x, return_inverse=True)
    return unique, np.bincount(index, y) / np.bincount(index)
