"""The scores that statistics take, validated, sorted and weighted, and their bootstrap.

No score is ever dropped: an unusable one raises an error with its position. Resamples store only how often
each unit was drawn, which suffices for means, order statistics and trimmed means. Blocks of them fit in the
processor's cache, so memory is bounded by the number of scores, not by scores times resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mosaic_lab.errors import ConfigurationError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = ArrayLike | Mapping[str, ArrayLike]
"""The scores of one operator.

An array ``(episodes,)`` for one task, or ``{task: array}`` for several (environments). A task's array is
``(episodes,)`` if the episodes are independent, or ``(runs, episodes)`` (or a list of arrays, one per run) if
the episodes of a run share a trained policy: then runs are resampled, each with all its episodes. To use one
score per run, as in Agarwal et al. 2021, pass the runs' means, ``(runs,)``.
"""

ONE_TASK = ""
"""The task's name for scores given as a bare array."""

LARGEST = 1e150
"""Maximum absolute score; squares and differences of larger ones would overflow."""

RESAMPLES = 2000
"""Default number of resamples."""

CONFIDENCE = 0.95
"""Default coverage of intervals."""

_CELLS = 1 << 16  # counts in a block: half a MiB
_THREADLESS = 250_000  # multiplications: OpenBLAS uses threads from 2^18


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """The validated scores of one operator over all tasks.

    A *unit* is resampled as a whole: an episode, or a run with all its episodes. Units are numbered task by
    task (tasks by name) and within a task by their mean, so the order of the input has no effect. All tasks
    have equal weight, as do all units of a task.
    """

    tasks: tuple[str, ...]
    units: tuple[int, ...]
    """Number of units of each task."""
    values: Floats
    """All scores, float64[n], ascending."""
    unit: Ints
    """The unit of each score, int64[n]."""
    weight: Floats | None
    """Weight of each score, float64[n] with sum n; None if all are 1."""
    ranked: bool
    """Whether unit i is score i: one task of single episodes."""

    def unit_means(self, transform: Callable[[Floats], Floats] = lambda values: values) -> Floats:
        """Return the mean of ``of(scores)`` over the episodes of each unit, float64[units]."""
        sums = np.bincount(self.unit, transform(self.values), minlength=sum(self.units))
        return sums / np.bincount(self.unit, minlength=len(sums))

    def mass(self, counts: Ints) -> NDArray[Any]:
        """Return the mass of each resample at or below each score: [rows, n], whose last column is n.
        ``counts``, int64[rows, units], is how often each unit was drawn."""
        score_counts = counts if self.ranked else np.take(counts, self.unit, axis=1)
        return np.cumsum(score_counts if self.weight is None else score_counts * self.weight, axis=1)


def read_scores(scores: Scores, name: str) -> Sample:
    """Validate scores; ``name`` is their name in errors.

    Raises ConfigurationError for no scores, for a score that is not a finite number below 1e150 in absolute
    value, and for a bare two-dimensional array, which is ambiguous (tasks × episodes or runs × episodes).
    """
    if isinstance(scores, Mapping):
        if not scores:
            raise ConfigurationError(
                f"{name}: there are no tasks; pass {{task: scores}} or an array of scores"
            )
        if unnamed := [task for task in scores if not isinstance(task, str)]:
            raise ConfigurationError(f"{name}: task names must be strings, not {unnamed[0]!r}")
        tasks = {task: _units(values, f"{name}, task {task!r}") for task, values in scores.items()}
    else:
        values, lengths = _units(scores, name)
        if lengths.max() > 1:
            raise ConfigurationError(
                f"{name}: two-dimensional scores need a task name: pass "
                "{task: array of (runs, episodes)}, or {task: array of (episodes,)} for several tasks"
            )
        tasks = {ONE_TASK: (values, lengths)}
    return _sample(tasks)


def read_numbers(values: Any, name: str) -> Floats:
    """Return ``values`` as a float64 array. Raises ConfigurationError unless all are finite numbers below
    1e150 in absolute value.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ConfigurationError(f"{name}: lists of unequal lengths cannot be one array ({error})") from None
    if array.dtype.kind not in "buif":
        raise ConfigurationError(f"{name}: scores must be numbers, not {array.dtype}: {str(array)[:80]}")
    numbers = array.astype(np.float64)
    usable = np.abs(numbers) < LARGEST
    if not usable.all():
        wrong = np.flatnonzero(~usable.ravel())
        raise ConfigurationError(
            f"{name}: {len(wrong)} of {numbers.size} values are not finite (or beyond 1e150), the first is "
            f"{numbers.ravel()[wrong[0]]} at position {wrong[0]}; pass the score that such an episode should "
            "count as, because nothing is left out silently"
        )
    return numbers


def normalise_scores(
    scores: Mapping[str, ArrayLike], low: Mapping[str, float], high: Mapping[str, float]
) -> dict[str, Floats]:
    """Scale scores so that a task's ``low`` score (such as a random player's) becomes 0 and its ``high``
    score (a reference) becomes 1.

    ``scores`` is {task: array of any shape}; the result has the same tasks and shapes. Values below 0 and
    above 1 are not clipped. For games, these are the human-normalised scores of Mnih et al. 2015 and Agarwal
    et al. 2021. Raises ConfigurationError for a task without a low or a high score, or if these are equal.
    """
    missing = [task for task in scores if task not in low or task not in high]
    if missing:
        raise ConfigurationError(
            f"no low or no high score to normalise by for {', '.join(map(repr, missing))}"
        )
    normalised = {}
    for task, values in scores.items():
        bottom, top = read_numbers([low[task], high[task]], f"low and high score of task {task!r}")
        if bottom == top:
            raise ConfigurationError(
                f"task {task!r}: low and high score are both {bottom:g}; they must differ"
            )
        normalised[task] = (read_numbers(values, f"task {task!r}") - bottom) / (top - bottom)
    return normalised


def _units(values: Any, name: str) -> tuple[Floats, Ints]:
    """Return the scores of one task, unit by unit, and the number of scores in each unit."""
    if isinstance(values, Sequence) and not isinstance(values, str) and any(np.ndim(v) for v in values):
        runs = [read_numbers(run, f"{name}, run {index}") for index, run in enumerate(values)]
        wrong = next((run.shape for run in runs if run.ndim != 1), None)
        lengths = [run.size for run in runs]
        flat = np.concatenate([run.ravel() for run in runs])
    else:
        array = read_numbers(values, name)
        wrong = None if array.ndim in (1, 2) else array.shape
        flat = array.ravel()
        lengths = [] if wrong is not None or not array.size else [array[0].size] * len(array)
    if wrong is not None:
        raise ConfigurationError(f"{name}: the shape must be (episodes,) or (runs, episodes), not {wrong}")
    if not lengths or not min(lengths):
        raise ConfigurationError(f"{name}: no scores, or a run without scores (scores: {lengths})")
    return flat, np.array(lengths, dtype=np.int64)


def _sample(tasks: Mapping[str, tuple[Floats, Ints]]) -> Sample:
    names = sorted(tasks)
    values = np.concatenate([tasks[name][0] for name in names])
    lengths = np.concatenate([tasks[name][1] for name in names])
    units = tuple(len(tasks[name][1]) for name in names)
    starts = np.cumsum(lengths) - lengths
    task = np.repeat(np.arange(len(names)), units)
    numbers = np.empty_like(lengths)
    numbers[np.lexsort((np.add.reduceat(values, starts) / lengths, task))] = np.arange(len(lengths))
    weights = np.repeat(len(values) / (len(names) * np.repeat(units, units) * lengths), lengths)
    order = np.argsort(values, kind="stable")
    return Sample(
        tasks=tuple(names),
        units=units,
        values=values[order],
        unit=np.repeat(numbers, lengths)[order],
        weight=None if np.all(weights == 1.0) else weights[order],
        ranked=len(names) == 1 and bool(np.all(lengths == 1)),
    )


def same_tasks(samples: Mapping[str, Sample]) -> None:
    """Raise ConfigurationError unless all operators were scored on the same tasks."""
    tasks = {task for sample in samples.values() for task in sample.tasks}
    lacking = [
        f"{name} lacks {', '.join(map(repr, sorted(absent)))}"
        for name, sample in samples.items()
        if (absent := tasks - set(sample.tasks))
    ]
    if lacking:
        raise ConfigurationError(
            f"operators must be scored on the same tasks to be compared: {'; '.join(lacking)}"
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval, NaN if a task has a single episode (or run), which has no spread."""

    value: float
    low: float
    high: float
    confidence: float = CONFIDENCE


def check_resampling(rng: np.random.Generator, resamples: int, confidence: float) -> None:
    """Raise ConfigurationError unless ``rng`` is a Generator, resamples >= 1 and 0 < confidence < 1."""
    if not isinstance(rng, np.random.Generator):
        raise ConfigurationError(
            f"rng must be a numpy random Generator, not {rng!r}: pass rng=numpy.random.default_rng(0), and "
            "record the seed; the same seed gives the same interval"
        )
    if not isinstance(resamples, int | np.integer) or resamples < 1:
        raise ConfigurationError(f"resamples must be an integer of at least 1, not {resamples!r}")
    check_confidence(confidence)


def check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise ConfigurationError(f"confidence must be between 0 and 1 (such as 0.95), not {confidence!r}")


def blocks(resamples: int, cells: int) -> Iterator[slice]:
    """Yield slices of the resamples, each of ``cells`` numbers, in blocks."""
    rows = max(1, _CELLS // max(1, cells))
    yield from (slice(start, min(start + rows, resamples)) for start in range(0, resamples, rows))


def original_and_resamples(
    rng: np.random.Generator, units: Sequence[int], resamples: int, scores: int
) -> Iterator[Ints]:
    """Yield how often each unit occurs: first in the original sample (once), then in each resample.

    ``units`` are the numbers of units in the strata. Each stratum is resampled to its own size with
    replacement: the stratified bootstrap (Efron & Tibshirani 1993, "An Introduction to the Bootstrap";
    Agarwal et al. 2021). The counts are int64[rows, sum(units)], with few enough rows that an array of rows ×
    ``scores`` numbers also fits in a block; the draws do not depend on ``scores``.
    """
    width = sum(units)
    yield np.ones((1, width), dtype=np.int64)
    starts = (np.cumsum(units) - units).tolist()
    for block in blocks(resamples, width):
        rows = block.stop - block.start
        indices = np.empty((rows, width), dtype=np.int64)
        for size, start in zip(units, starts, strict=True):
            indices[:, start : start + size] = rng.integers(start, start + size, size=(rows, size))
        indices += np.arange(0, rows * width, width)[:, None]
        counts = np.bincount(indices.ravel(), minlength=rows * width).reshape(rows, width)
        yield from (counts[part] for part in blocks(rows, max(width, scores)))


def product(counts: Floats, columns: Floats) -> Floats:
    """Return ``counts`` [rows, n] @ ``columns`` [n, k], in pieces below the size at which BLAS starts
    threads: a thread that waits for a busy core takes a hundred times as long as the product."""
    piece = max(1, _THREADLESS // (counts.shape[0] * columns.shape[1]))
    total = counts[:, :piece] @ columns[:piece]
    for start in range(piece, len(columns), piece):
        total += counts[:, start : start + piece] @ columns[start : start + piece]
    return total


def bounds(replicates: Floats, confidence: float, units: Sequence[int]) -> NDArray[np.float64]:
    """Return the percentile interval over the first axis of ``replicates``: float64[2, ...], lower and upper,
    NaN if a stratum has a single one of the ``units``. Efron & Tibshirani 1993, chapter 13."""
    if min(units) < 2:
        return np.full((2, *replicates.shape[1:]), np.nan)
    tail = (1.0 - confidence) / 2.0
    return np.quantile(replicates, [tail, 1.0 - tail], axis=0)
