"""Comparisons of two operators: differences by seed, and probability of improvement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.statistics import resampling
from mosaic_lab.evaluation.statistics.averages import MEAN, estimates_of, replicate
from mosaic_lab.evaluation.statistics.resampling import (
    CONFIDENCE,
    RESAMPLES,
    Estimate,
    Floats,
    Ints,
    Sample,
    Scores,
    read_numbers,
    read_scores,
    same_tasks,
)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Scores of a first operator minus those of a second, by seed."""

    mean: Estimate
    median: Estimate
    seeds: tuple[int | str, ...]
    """The shared seeds, sorted."""
    differences: tuple[float, ...]
    """First minus second, for each shared seed."""
    only_first: tuple[int | str, ...]
    """Seeds scored only for the first operator, which the estimates exclude."""
    only_second: tuple[int | str, ...]


def paired_difference(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> PairedDifference:
    """Return the mean and the median of the differences between two operators over their shared seeds.

    ``first`` and ``second`` are (seeds, scores), both of shape (episodes,); seeds are integers or strings. A
    seed with several episodes counts once, with their mean. The interval is the percentile bootstrap over
    shared seeds (Efron & Tibshirani 1993): variation that both operators share on a seed cancels.

    Raises ConfigurationError for non-finite scores, different lengths, and no shared seed.
    """
    resampling.check_resampling(rng, resamples, confidence)
    seeds_first, means_first = _by_seed(*first, "first operator")
    seeds_second, means_second = _by_seed(*second, "second operator")
    if seeds_first.dtype.kind != seeds_second.dtype.kind:
        raise ConfigurationError(
            f"seeds of the first operator are {seeds_first.dtype}, of the second {seeds_second.dtype}: "
            "use integers for both, or strings for both"
        )
    shared, at_first, at_second = np.intersect1d(seeds_first, seeds_second, True, True)
    if len(shared) == 0:
        raise ConfigurationError(
            f"no seed is shared: the first operator has {len(seeds_first)} seeds such as {seeds_first[0]}, "
            f"the second {len(seeds_second)} such as {seeds_second[0]}"
        )
    differences = means_first[at_first] - means_second[at_second]
    sample = read_scores(differences, "differences")
    (values,) = replicate([sample], None, rng, resamples)
    mean, median, *_ = estimates_of(sample, values, confidence)
    return PairedDifference(
        mean=mean,
        median=median,
        seeds=tuple(shared.tolist()),
        differences=tuple(differences.tolist()),
        only_first=tuple(np.setdiff1d(seeds_first, shared).tolist()),
        only_second=tuple(np.setdiff1d(seeds_second, shared).tolist()),
    )


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """The mean score of a first operator minus that of a second; see `mean_difference`."""

    mean: Estimate


def mean_difference(
    first: Scores,
    second: Scores,
    *,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> MeanDifference:
    """Return the difference between the mean scores of two operators without pairs, such as algorithms whose
    trainings are independent.

    Both operators are resampled independently, within tasks (percentile bootstrap). Shapes: `Scores`. Raises
    ConfigurationError as `probability_of_improvement` does.
    """
    resampling.check_resampling(rng, resamples, confidence)
    x, y = read_scores(first, "first operator"), read_scores(second, "second operator")
    same_tasks({"first": x, "second": y})
    means = [replicate([sample], None, rng, resamples)[0, :, MEAN] for sample in (x, y)]
    values = means[0] - means[1]
    low, high = resampling.bounds(values[1:], confidence, x.units + y.units)
    return MeanDifference(Estimate(float(values[0]), float(low), float(high), confidence))


def probability_of_improvement(
    first: Scores,
    second: Scores,
    *,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return the probability that an episode of the first operator scores higher than one of the second on
    the same task.

    This is the Mann-Whitney statistic U / (n m), with ties counting half, averaged over tasks (Mann & Whitney
    1947; Agarwal et al. 2021). Both operators are resampled independently, within tasks. Shapes: `Scores`.

    Raises ConfigurationError for scores that `read_scores` rejects and for tasks that one of the operators
    lacks.
    """
    resampling.check_resampling(rng, resamples, confidence)
    x, y = read_scores(first, "first operator"), read_scores(second, "second operator")
    same_tasks({"first": x, "second": y})
    x_tasks, y_tasks = _by_task(x), _by_task(y)
    units = x.units + y.units
    probabilities = []
    for counts in resampling.original_and_resamples(rng, units, resamples, len(x.values) + len(y.values)):
        columns = np.split(counts, np.cumsum(units)[:-1], axis=1)
        tasks = zip(x_tasks, y_tasks, columns, columns[len(x_tasks) :], strict=False)
        probabilities.append(np.mean([_beats(*task) for task in tasks], axis=0))
    values = np.clip(np.concatenate(probabilities), 0.0, 1.0)  # sums of shares may exceed 1 by an ulp
    low, high = resampling.bounds(values[1:], confidence, units)
    return Estimate(float(values[0]), float(low), float(high), confidence)


def _by_seed(seeds: ArrayLike, scores: ArrayLike, name: str) -> tuple[NDArray[np.generic], Floats]:
    """Return the distinct seeds, sorted, and the mean score of each."""
    labels, values = np.asarray(seeds), read_numbers(scores, name)
    if labels.ndim != 1 or values.shape != labels.shape or len(labels) == 0:
        raise ConfigurationError(
            f"{name}: seeds and scores must be non-empty arrays of shape (episodes,); "
            f"their shapes are {labels.shape} and {values.shape}"
        )
    if labels.dtype.kind not in "iuU":
        raise ConfigurationError(f"{name}: seeds must be integers or strings, not {labels.dtype}")
    if labels.dtype.kind == "u":
        labels = labels.astype(np.int64)
    unique, index = np.unique(labels, return_inverse=True)
    return unique, np.bincount(index, values) / np.bincount(index)


@dataclass(frozen=True, eq=False, slots=True)
class _Task:
    """The scores of one task in ascending order, with their units and their shares (which sum to 1)."""

    values: Floats
    unit: Ints
    share: Floats


def _by_task(sample: Sample) -> list[_Task]:
    weight = np.ones(len(sample.values)) if sample.weight is None else sample.weight
    tasks, start = [], 0
    for size in sample.units:
        in_task = (sample.unit >= start) & (sample.unit < start + size)
        share = weight[in_task] * len(sample.tasks) / len(sample.values)
        tasks.append(_Task(sample.values[in_task], sample.unit[in_task] - start, share))
        start += size
    return tasks


def _beats(x: _Task, y: _Task, x_counts: Ints, y_counts: Ints) -> NDArray[np.float64]:
    """Return the share of pairs in which ``x`` scores higher, for each resample: float64[rows]."""
    mass = np.cumsum(y_counts[:, y.unit] * y.share, axis=1)
    mass = np.concatenate([np.zeros((len(mass), 1)), mass], axis=1)
    below = np.searchsorted(y.values, x.values, "left")
    at_most = np.searchsorted(y.values, x.values, "right")
    won = (np.take(mass, below, axis=1) + np.take(mass, at_most, axis=1)) / 2.0
    share: NDArray[np.float64] = np.einsum("ij,ij->i", x_counts[:, x.unit] * x.share, won)
    return share
