"""User-defined statistics, against SciPy's bootstrap and the stratified bootstrap of Agarwal et al. 2021."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import statistic

SPREAD = np.random.default_rng(0).gamma(2, size=(12, 1)) * [1.0, 3.0, 9.0]
"""Scores of 12 runs on three tasks, float64[runs, tasks]."""


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def interquartile_mean(scores: NDArray[np.float64]) -> float:
    return float(stats.trim_mean(scores, 0.25, axis=None))


@pytest.mark.parametrize(("interval", "method"), [("percentile", "percentile"), ("bca", "BCa")])
def test_the_interval_of_one_task_is_that_of_scipy(interval: str, method: str) -> None:
    scores = SPREAD[:, 0]
    ours = statistic(scores, np.std, rng=rng(), interval=interval)  # type: ignore[arg-type]
    theirs = stats.bootstrap(
        (scores,), np.std, n_resamples=2000, method=method, rng=rng(1)
    ).confidence_interval
    assert ours.value == pytest.approx(np.std(scores))
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=0.1)
    again = statistic(scores, np.std, rng=rng(), interval=interval)  # type: ignore[arg-type]
    assert ours == again, "the same seed gives the same interval"


@pytest.mark.parametrize("resample_tasks", [False, True])
def test_tasks_are_strata_or_resampled_too(resample_tasks: bool) -> None:
    ours = statistic(SPREAD, interquartile_mean, rng=rng(), resample_tasks=resample_tasks, resamples=4000)
    draws, replicates = rng(1), []
    for _ in range(4000):  # as in rliable: draw runs per column, and columns if requested
        runs = draws.integers(0, 12, size=SPREAD.shape)
        tasks = draws.integers(0, 3, size=3) if resample_tasks else np.arange(3)
        replicates.append(interquartile_mean(SPREAD[runs, tasks]))
    assert (ours.low, ours.high) == pytest.approx(np.quantile(replicates, [0.025, 0.975]), rel=0.05)
    assert ours.value == pytest.approx(interquartile_mean(SPREAD))


def test_intervals_over_tasks_like_these_are_wider() -> None:
    within = statistic(SPREAD, np.mean, rng=rng())
    across = statistic(SPREAD, np.mean, rng=rng(), resample_tasks=True)
    assert across.low < within.low < within.high < across.high


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_a_statistic_of_each_task_is_averaged_over_tasks_of_any_lengths(interval: str) -> None:
    tasks = [SPREAD[:12, 0], SPREAD[:9, 1], SPREAD[:5, 2]]
    ours = statistic(tasks, np.std, rng=rng(), each_task=True, interval=interval)  # type: ignore[arg-type]
    theirs = stats.bootstrap(
        tasks,
        lambda *drawn, axis: np.mean([np.std(task, axis=axis) for task in drawn], axis=0),
        n_resamples=4000,
        method={"bca": "BCa"}.get(interval, interval),
        rng=rng(1),
    ).confidence_interval
    assert ours.value == pytest.approx(np.mean([np.std(task) for task in tasks]))
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=0.1)


@pytest.mark.parametrize("each_task", [False, True])
def test_a_statistic_with_an_axis_is_called_for_many_resamples_at_once(each_task: bool) -> None:
    calls: list[int] = []

    def spread(scores: NDArray[np.float64], axis: int | None = None) -> float:
        calls.append(scores.ndim)
        return np.std(scores, axis=axis)  # type: ignore[return-value]

    scores = [SPREAD[:12, 0], SPREAD[:9, 1]] if each_task else SPREAD[:, 0]
    how: dict[str, Any] = {"interval": "bca", "each_task": each_task}
    at_once = statistic(scores, spread, rng=rng(), **how)
    assert len(calls) < 20
    each = statistic(scores, lambda run: np.std(run), rng=rng(), **how)  # type: ignore[arg-type,return-value]
    assert (at_once.value, at_once.low, at_once.high) == pytest.approx((each.value, each.low, each.high))
    with pytest.raises(ConfigurationError, match="the statistic returned nan"):
        statistic([1.0, 2.0, 4.0], lambda run, axis=None: np.std(run, axis) / np.std(run, axis), rng=rng())


def test_a_single_run_has_no_interval() -> None:
    alone = statistic([3.0], np.mean, rng=rng())
    assert alone.value == 3.0
    assert math.isnan(alone.low) and math.isnan(alone.high)


def test_equal_scores_have_no_bias_corrected_interval() -> None:
    assert math.isnan(statistic([5.0] * 9, np.mean, rng=rng(), interval="bca").low)
    constant = statistic([5.0] * 9, np.mean, rng=rng())
    assert (constant.low, constant.high) == (5.0, 5.0)


def test_an_invalid_statistic_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="must return a number for an array of scores"):
        statistic([1.0, 2.0], lambda scores: scores, rng=rng())  # type: ignore[arg-type,return-value]
    with pytest.raises(ConfigurationError, match="the statistic returned nan"):
        statistic([1.0, 2.0], lambda scores: math.nan, rng=rng())
    with pytest.raises(ConfigurationError, match=r'"bca" is for the scores of one task, or'):
        statistic(SPREAD, np.mean, rng=rng(), interval="bca")
    with pytest.raises(ConfigurationError, match="needs scores of several tasks"):
        statistic([1.0, 2.0], np.mean, rng=rng(), resample_tasks=True)
    with pytest.raises(ConfigurationError, match="needs scores of several tasks"):
        statistic([[1.0], [2.0, 3.0]], np.mean, rng=rng(), each_task=True, resample_tasks=True)
    with pytest.raises(ConfigurationError, match=r'must be "percentile" or "bca"'):
        statistic([1.0, 2.0], np.mean, rng=rng(), interval="basic")  # type: ignore[arg-type]
