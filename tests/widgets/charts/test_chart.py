"""Arithmetic behind a chart: smoothing, means with intervals, axis ticks, and the arrays sent to the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import start_learner, store

from mosaic_lab.chart_style import outline
from mosaic_lab.evaluation import learning_curve
from mosaic_lab.overview.curve_model import Curve
from mosaic_lab.overview.curves import mean_over_runs, smooth
from mosaic_lab.runs import RunGroup
from mosaic_lab.widgets.charts.chart import Chart, Line, Window, log_ticks, round_ticks, stack, step_ticks
from mosaic_lab.widgets.charts.static_chart import chart_picture
from mosaic_lab.widgets.runs.run_view import ChartSettings, chart_content, run_views


def test_smoothing_starts_at_the_first_value_and_skips_gaps() -> None:
    y = np.array([10.0, 20.0, np.nan, 30.0])
    smoothed = smooth(y, 0.8)
    assert smoothed[0] == 10
    assert smoothed[1] == pytest.approx((0.8 * 10 + 20) / 1.8)
    assert np.isnan(smoothed[2])
    assert smoothed[3] == pytest.approx((0.64 * 10 + 0.8 * 20 + 30) / 2.44)
    assert smooth(y, 0.0) is y


def learning(seeds: int, jitter: int = 0) -> list[Curve]:
    """Returns of runs, clipped to [0, 500] so that most of them are at either end."""
    noise = np.random.default_rng(seeds + jitter)
    steps = np.linspace(0, 1e5, 150)
    return [(steps, np.clip(noise.normal(250, 400, 150), 0, 500)) for _ in range(seeds)]


@pytest.mark.parametrize("seeds", [2, 5, 7, 30])
def test_an_interval_stays_among_the_values_observed(seeds: int) -> None:
    for jitter in range(20):
        curves = learning(seeds, jitter)
        values = np.stack([y for _, y in curves]) / 3  # thirds do not add up exactly
        found = learning_curve(
            [(x, y) for (x, _), y in zip(curves, values, strict=True)],
            rng=np.random.default_rng(jitter),
            steps=curves[0][0],
            resamples=200,
        )
        assert (found.low >= values.min(axis=0)).all() and (found.high <= values.max(axis=0)).all()
        assert (found.low <= found.value + 1e-9).all() and (found.high >= found.value - 1e-9).all()


def test_the_mean_is_over_all_runs_or_ends() -> None:
    curves = [
        (np.array([0.0, 100.0]), np.zeros(2)),
        (np.array([10.0, 100.0]), np.full(2, 2.0)),
        (np.array([0.0, 50.0]), np.full(2, 10.0)),
    ]
    result = mean_over_runs(curves, points=5)
    assert result is not None
    assert result.steps.tolist() == [10, 20, 30, 40, 50]
    assert result.value.tolist() == [4] * 5
    assert np.isfinite(result.low).all()


def test_runs_with_no_place_in_common_have_no_mean_and_a_single_one_has_no_band() -> None:
    early, late = np.array([0.0, 10.0]), np.array([20.0, 30.0])
    assert mean_over_runs([(early, early), (late, late)]) is None
    one = mean_over_runs([(early, early)], points=3)
    assert one is not None
    assert one.value.tolist() == [0, 5, 10]
    assert np.isnan(one.low).all()


def test_no_data_gives_no_mean() -> None:
    assert mean_over_runs([]) is None
    assert mean_over_runs([(np.array([1.0]), np.array([np.nan]))]) is None


def test_few_runs_are_drawn_beside_their_mean_and_a_band_is_shown_whole(tmp_path: Path) -> None:
    with store(tmp_path, max_running=6) as supervisor:
        runs = [start_learner(supervisor, seed, seconds=0.1, rows=60) for seed in range(6)]
        RunGroup(runs).wait(60)
        views = run_views(runs, alone=False)[1]
        for view in views:
            view.catch_up()
    settings = ChartSettings(("episode_return",), interval=True)
    (few,), (many,) = (chart_content(some, settings, alone=False).lines for some in (views[:2], views))
    assert few.label == "mean of 2" and few.band is None and len(few.thin) == 2
    assert many.label == "mean of 6, 95% CI" and many.thin == ()
    assert many.band is not None
    for line in (few, many):
        one, other = (chart_picture([replace(line, label=name)], "steps", "") for name in ("a", "b"))
        assert one != other, "the saved picture does not label the mean"
    observed = np.concatenate([view.curve("episode_return", "step", 1000)[1] for view in views])
    assert observed.min() <= many.band[1].min() and many.band[1].max() <= observed.max()
    chart = Chart()
    chart.draw([many], "steps")
    bands = chart.figure.marks[0]
    assert bands.y.size and not any(mark.preserve_domain for mark in chart.figure.marks)
    ticks = chart.figure.axes[1].tick_values
    assert ticks[-1] > many.curve[1].max(), "the ticks ignore the band"


def test_a_band_that_reaches_zero_reaches_the_foot_of_a_logarithmic_axis() -> None:
    at, mean = np.arange(4.0), np.array([9.0, 8.0, 5.0, 2.0])
    line = Line("a", "a", "#000", (at, mean), band=outline(at, mean - 5, mean + 5))
    chart = Chart()
    chart.use_log(True)
    chart.draw([line], "steps")
    assert chart.figure.marks[0].y.ravel().tolist() == [14, 13, 10, 7, 2, 2, 3, 4]
    chart.limit(6, 7.5)
    assert chart.figure.axes[1].tick_values.tolist() == [6, 7.5], "not the ticks of the visible part"
    cut = replace(line, band=outline(at[:2], mean[:2] - 5, mean[:2] + 5))
    assert chart_picture([line], "steps", "", log=True) != chart_picture([cut], "steps", "", log=True)


@pytest.mark.parametrize("log", [False, True])
def test_equal_values_have_a_scale_with_their_own_tick_in_the_middle(log: bool) -> None:
    chart = Chart()
    chart.use_log(log)
    chart.draw([Line("a", "a", "#000", (np.arange(3.0), np.full(3, 20.0)))], "steps")
    ticks = chart.figure.axes[1].tick_values
    assert 20 in ticks.round(6) and len(ticks) > 1
    reach = np.concatenate([np.ravel(mark.y) for mark in chart.figure.marks])
    assert reach.min() < 20 < reach.max(), "the marks give the scale no extent"
    chart.draw([Line("a", "a", "#000", (np.arange(3.0), np.array([1.0, 2.0, 3.0])))], "steps")
    reach = np.concatenate([np.ravel(mark.y) for mark in chart.figure.marks])
    assert (reach.min(), reach.max()) == (1, 3)


@pytest.mark.parametrize("log", [False, True])
def test_a_single_limit_beyond_the_values_does_not_turn_the_axis_over(log: bool) -> None:
    chart = Chart()
    chart.use_log(log)
    chart.draw([Line("a", "a", "#000", (np.arange(3.0), np.array([1.0, 2.0, 30.0])))], "steps")
    chart.limit(50, None)
    low, high = chart.full_window.y
    assert low == 50 and high is not None and high > 50
    chart.limit(None, 0.5)
    low, high = chart.full_window.y
    assert high == 0.5 and low is not None and low < 0.5
    chart.limit(None, None)
    assert chart.full_window.y == (None, None)
    chart.limit(50, None)
    chart.draw([Line("a", "a", "#000", (np.arange(3.0), np.array([1.0, 2.0, 300.0])))], "steps")
    assert chart.full_window.y == (50, None), "a limit within the values leaves the other end open"


def test_curves_are_stacked_as_float32_and_short_ones_repeat_their_last_point() -> None:
    x, y = stack([(np.arange(3.0), np.arange(3.0) * 2), (np.array([7.0]), np.array([8.0]))])
    assert x.dtype == y.dtype == np.float32
    assert x.tolist() == [[0, 1, 2], [7, 7, 7]]
    assert y.tolist() == [[0, 2, 4], [8, 8, 8]]
    assert stack([(np.array([1.0]), np.array([2.0]))])[0].shape == (1, 2)


def test_logarithmic_ticks_are_few_and_inside() -> None:
    assert log_ticks([np.array([5.0, 300.0])]).tolist() == [5, 10, 20, 50, 100, 200]
    assert log_ticks([np.array([1.0, 9e4])]).tolist() == [1, 10, 100, 1_000, 10_000]
    assert log_ticks([np.array([1e-6, 1.0]), np.array([1e6])]).tolist() == pytest.approx(
        [10.0**k for k in range(-6, 7, 3)]
    )
    assert log_ticks([np.array([2.1, 8.4])]).tolist() == [3, 5, 7]
    assert len(log_ticks([np.array([-1.0, np.nan])])) == 1


@pytest.mark.parametrize("last", [500.0002, 0.000123, 3e9, -1e6])
def test_ticks_have_different_labels(last: float) -> None:
    chart = Chart()
    chart.draw([Line("a", "a", "#000", (np.arange(2.0), np.array([500.0, last])))], "steps")
    y_axis = chart.figure.axes[1]
    digits, _, kind = y_axis.tick_format.partition("~")
    texts = {format(tick, f"{digits or '.6'}g") for tick in y_axis.tick_values}
    assert len(texts) == len(y_axis.tick_values) >= 3 and kind in ("g", "s")


def test_linear_ticks_are_about_five_round_numbers() -> None:
    assert round_ticks(-6.5, 520.7).tolist() == [0, 100, 200, 300, 400, 500]
    assert round_ticks(0.0, 1.0) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert round_ticks(-0.021, -0.001) == pytest.approx([-0.02, -0.015, -0.01, -0.005])
    assert round_ticks(3.0, 3.0).tolist() == [3]
    for high in np.geomspace(1e-6, 1e6, 50):
        assert 3 <= len(round_ticks(0, high)) <= 7
    chart = Chart()
    y_axis = chart.figure.axes[1]
    chart.draw([Line("a", "a", "#000", (np.arange(2.0), np.array([0.0, 500.0])))], "steps")
    assert y_axis.tick_values.tolist() == [0, 100, 200, 300, 400, 500]
    y_axis.scale.min, y_axis.scale.max = 410.0, 450.0  # zoomed
    assert y_axis.tick_values.tolist() == [410, 420, 430, 440, 450]
    chart.reset()
    assert y_axis.tick_values.tolist() == [0, 100, 200, 300, 400, 500]


def test_an_axis_over_a_few_steps_has_a_tick_for_each() -> None:
    assert step_ticks([np.arange(4.0), np.arange(6.0)]).tolist() == [0, 1, 2, 3, 4, 5]
    assert step_ticks([np.arange(200.0)]) is None
    assert step_ticks([np.array([0.0, 0.4, 2.5])]) is None, "fractional x, such as seconds"
    assert step_ticks([]) is None


def test_a_picture_shows_a_run_of_one_point() -> None:
    one, none = (
        chart_picture(
            [Line("a", "a", "#d9534f", (np.array([1.0]), np.array([value])))],
            "steps",
            "",
            window=Window((0, 2), (0, 1)),
        )
        for value in (0.5, np.nan)
    )
    assert one != none
