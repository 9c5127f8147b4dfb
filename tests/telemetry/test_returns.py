"""Last and best mean return over 20 episodes, whatever the batches in which returns arrive."""

from __future__ import annotations

import numpy as np
import pytest

from mosaic_lab.telemetry.metrics import ReturnMeans


def means_of(values: np.ndarray, *cuts: int) -> tuple[float | None, float | None]:
    means = ReturnMeans()
    for part in np.split(values, cuts):
        means.add(part)
    return means.last, means.best


def test_they_are_the_same_however_many_returns_come_at_a_time() -> None:
    values = np.random.default_rng(0).normal(size=500)
    expected = np.convolve(values, np.ones(20) / 20, "valid")
    for cuts in ((), range(1, 500), (3, 19, 20, 21, 333)):
        assert means_of(values, *cuts) == pytest.approx((expected[-1], expected.max()))
        assert means_of(values, *cuts) == means_of(values)


def test_of_fewer_than_twenty_they_are_the_mean_of_all_and_without_any_nothing() -> None:
    assert means_of(np.array([1.0, 5.0, np.nan, np.inf])) == (3, 3)
    assert means_of(np.arange(20.0), 1) == (9.5, 9.5)
    assert means_of(np.array([np.nan])) == (None, None)
