"""The bootstrap: counts of drawn units, in blocks, and intervals of the replicates.

Resamples store only how often each unit was drawn, which suffices for means, order statistics and trimmed
means. Blocks fit in the processor's cache, so memory is bounded by the number of scores, not by scores times
resamples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.statistics.scores import Floats, Ints

RESAMPLES = 2000
"""Default number of resamples."""

CONFIDENCE = 0.95
"""Default coverage of intervals."""

_CELLS = 1 << 16  # counts in a block: half a MiB
_THREADLESS = 250_000  # multiplications: OpenBLAS uses threads from 2^18


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
    yield from (slice(at, min(at + rows, resamples)) for at in range(0, resamples, rows))


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
        drawn = np.empty((rows, width), dtype=np.int64)
        for size, start in zip(units, starts, strict=True):
            drawn[:, start : start + size] = rng.integers(start, start + size, size=(rows, size))
        drawn += np.arange(0, rows * width, width)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * width).reshape(rows, width)
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
