"""The arithmetic behind a chart: smoothing, means with intervals, what is sent to be drawn."""

from __future__ import annotations

import numpy as np
import pytest

from mosaic_lab.widgets.chart import log_ticks, step_ticks
from mosaic_lab.widgets.curves import mean_interval, outline, smooth, stack, student


def test_smoothing_starts_at_the_first_value_and_skips_gaps() -> None:
    y = np.array([10.0, 20.0, np.nan, 30.0])
    smoothed = smooth(y, 0.5)
    assert smoothed[0] == 10
    assert smoothed[1] == pytest.approx((0.5 * 10 + 20) / 1.5)
    assert np.isnan(smoothed[2])
    assert smoothed[3] == pytest.approx((0.25 * 10 + 0.5 * 20 + 30) / 1.75)
    assert smooth(y, 0.0) is y


def test_the_interval_is_students() -> None:
    x = np.array([0.0, 100.0])
    values = np.array([1.0, 2.0, 4.0, 9.0, 4.0])
    result = mean_interval([(x, np.full(2, value)) for value in values], points=5)
    half = 2.776 * values.std(ddof=1) / np.sqrt(5)  # t(0.975, 4)
    np.testing.assert_allclose(result.mean, 4.0)
    np.testing.assert_allclose(result.low, 4.0 - half, rtol=1e-3)
    np.testing.assert_allclose(result.high, 4.0 + half, rtol=1e-3)


def test_the_mean_is_over_all_runs_or_ends() -> None:
    curves = [
        (np.array([0.0, 100.0]), np.zeros(2)),
        (np.array([10.0, 100.0]), np.full(2, 2.0)),
        (np.array([0.0, 50.0]), np.full(2, 10.0)),
    ]
    result = mean_interval(curves, points=5)
    assert result.x.tolist() == [10, 20, 30, 40, 50]
    assert result.mean.tolist() == [4] * 5
    assert np.isfinite(result.low).all()


def test_runs_with_no_place_in_common_have_no_mean_and_a_single_one_has_no_band() -> None:
    early, late = np.array([0.0, 10.0]), np.array([20.0, 30.0])
    assert len(mean_interval([(early, early), (late, late)]).x) == 0
    one = mean_interval([(early, early)], points=3)
    assert one.mean.tolist() == [0, 5, 10]
    assert np.isnan(one.low).all()


def test_no_data_gives_an_empty_interval() -> None:
    assert len(mean_interval([]).x) == 0
    assert len(mean_interval([(np.array([1.0]), np.array([np.nan]))]).x) == 0


def test_quantiles_of_students_t_beyond_the_table_are_right() -> None:
    known = {1: 12.706, 10: 2.228, 30: 2.042, 40: 2.0211, 100: 1.9840, 1000: 1.9623}
    np.testing.assert_allclose(student(np.array(list(known))), list(known.values()), atol=6e-4)


def test_a_bands_outline_closes_around_it() -> None:
    x, y = outline(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, np.nan]), np.array([3.0, 4.0, np.nan]))
    assert x.tolist() == [0, 1, 1, 0]
    assert y.tolist() == [3, 4, 2, 1]


def test_curves_are_stacked_as_float32_and_short_ones_repeat_their_last_point() -> None:
    x, y = stack([(np.arange(3.0), np.arange(3.0) * 2), (np.array([7.0]), np.array([8.0]))])
    assert x.dtype == y.dtype == np.float32
    assert x.tolist() == [[0, 1, 2], [7, 7, 7]]
    assert y.tolist() == [[0, 2, 4], [8, 8, 8]]
    assert stack([(np.array([1.0]), np.array([2.0]))])[0].shape == (1, 2)


def test_logarithmic_ticks_are_few_and_inside() -> None:
    assert log_ticks([np.array([5.0, 300.0])]).tolist() == [5, 10, 20, 50, 100, 200]
    assert log_ticks([np.array([1e-6, 1.0]), np.array([1e6])]).tolist() == pytest.approx(
        [10.0**k for k in range(-6, 7, 2)]
    )
    assert len(log_ticks([np.array([-1.0, np.nan])])) == 1


def test_an_axis_over_a_few_steps_has_a_tick_for_each() -> None:
    assert step_ticks([np.arange(4.0), np.arange(6.0)]).tolist() == [0, 1, 2, 3, 4, 5]
    assert step_ticks([np.arange(200.0)]) is None
    assert step_ticks([np.array([0.0, 0.4, 2.5])]) is None, "seconds, say"
    assert step_ticks([]) is None
