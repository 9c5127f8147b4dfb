"""A series stays small and draws like the whole run."""

from __future__ import annotations

import numpy as np
import pytest

from mosaic_lab.telemetry.series import CAPACITY, Series


def filled(values: np.ndarray, batch: int = 997) -> Series:
    """A series that took ``values`` batch by batch, at steps 0, 10, 20, ... and seconds 0, 1, 2, ..."""
    series = Series()
    for start in range(0, len(values), batch):
        part = values[start : start + batch]
        ordinal = np.arange(start, start + len(part), dtype=np.float64)
        series.extend(10 * ordinal, ordinal // 100, ordinal, part)
    return series


def test_a_short_run_is_kept_point_by_point() -> None:
    values = np.random.default_rng(0).normal(size=800)
    x, y = filled(values).view("step", points=1000)
    assert np.array_equal(x, 10 * np.arange(800))
    assert np.array_equal(y, values)


@pytest.mark.parametrize("length", [1_000, 5_000, 100_000, 1_000_000])
def test_whatever_the_length_of_the_run_a_view_is_bounded_and_reaches_from_start_to_end(length: int) -> None:
    series = filled(np.random.default_rng(0).normal(size=length), batch=10_000)
    x, y = series.view("step", points=1000)
    assert len(series) <= CAPACITY
    assert 500 < len(x) == len(y) <= 1000
    assert x[0] == 0
    assert x[-1] == 10 * (length - 1)
    assert series.count == length


def test_every_part_of_a_long_run_keeps_its_detail() -> None:
    x, _ = filled(np.random.default_rng(0).normal(size=300_000)).view("step", points=1000)
    for_each_tenth, _ = np.histogram(x, bins=10, range=(0, 3_000_000))
    assert for_each_tenth.min() > 0.8 * for_each_tenth.mean()


def test_a_single_spike_in_a_long_run_is_never_lost() -> None:
    values = np.zeros(200_000)
    values[1_234], values[150_001] = 5.0, -7.0
    x, y = filled(values).view("step", points=200)
    assert y.max() == 5.0
    assert x[y.argmax()] == 12_340
    assert y.min() == -7.0
    assert x[y.argmin()] == 1_500_010


def test_nan_and_infinity_are_gaps_at_every_length() -> None:
    values = np.sin(np.arange(50_000) / 500)
    values[20_000:21_000] = np.nan
    values[30_000] = np.inf
    x, y = filled(values).view("step", points=1000)
    gaps = x[np.isnan(y)]
    assert np.any((gaps >= 200_000) & (gaps < 210_000))
    assert np.any(gaps == 300_000)
    assert not np.any(np.isfinite(y) & (x >= 200_000) & (x < 210_000))
    assert not np.any(np.isinf(y))


def test_a_run_of_which_every_other_value_is_nan_still_shows_its_values() -> None:
    values = np.arange(50_000, dtype=np.float64)
    values[::2] = np.nan
    series = filled(values)
    _, y = series.view("step", points=1000)
    assert np.isfinite(y).sum() > 500
    assert len(series) <= CAPACITY


def test_only_nan_is_no_error() -> None:
    _, y = filled(np.full(10_000, np.nan)).view("time")
    assert np.isnan(y).all()


@pytest.mark.parametrize("x", ["step", "episode", "time"])
def test_the_x_axis_never_falls_even_if_the_steps_did(x: str) -> None:
    series = Series()
    count = np.arange(3000, dtype=np.float64)
    series.extend(count[::-1], count // 7, count, count)
    xs, _ = series.view(x, points=1000)
    assert np.all(np.diff(xs) >= 0)


def test_an_axis_that_stands_still_is_no_error() -> None:
    series = Series()
    count = np.arange(3000, dtype=np.float64)
    series.extend(count, np.zeros(3000), count, count)
    xs, ys = series.view("episode", points=1000)
    assert len(xs) <= 1000
    assert ys.max() == 2999


def test_means_are_the_means_of_all_values_not_of_the_extremes() -> None:
    skewed = np.random.default_rng(0).exponential(size=500_000)  # mean 1; between its extremes it is about 4
    series = filled(skewed)
    x, y = series.means("step", points=500)
    assert 250 <= len(x) <= 500
    assert y.mean() == pytest.approx(1.0, abs=0.02)
    assert np.all(np.diff(x) > 0)


def test_means_of_a_short_run_are_its_values_without_gaps() -> None:
    values = np.arange(600, dtype=np.float64)
    values[5] = np.nan
    x, y = filled(values, batch=7).means("time", points=1000)
    assert np.array_equal(y, np.delete(values, 5))
    assert np.array_equal(x, np.delete(np.arange(600), 5))


def test_an_empty_series_gives_empty_arrays() -> None:
    series = Series()
    assert series.last is None
    assert [len(part) for part in (*series.view(), *series.means())] == [0, 0, 0, 0]


def test_what_belongs_to_a_step_has_a_place_on_every_axis() -> None:
    series = filled(np.zeros(800))
    assert series.nearest([-3, 2_996, 1e9], "step") == [0, 3_000, 7_990]
    assert series.nearest([2_996], "episode") == [3]
    assert series.nearest([2_996], "time") == [300]
