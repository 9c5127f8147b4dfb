"""Performance profiles (scores over thresholds) and learning curves (scores over training steps)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import learning_curve, performance_profile


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_profile_by_hand() -> None:
    found = performance_profile([1.0, 2.0, 2.0, 4.0], [0.0, 1.0, 2.0, 3.9, 4.0], rng=rng())
    assert found.share.tolist() == [1.0, 0.75, 0.25, 0.25, 0.0]  # above the threshold, not at it
    assert found.thresholds.tolist() == [0.0, 1.0, 2.0, 3.9, 4.0]
    assert found.low[0] == found.high[0] == 1.0
    assert found.low[-1] == found.high[-1] == 0.0


def test_a_profile_is_the_score_distribution_that_rliable_defines() -> None:
    matrix, thresholds = rng(1).gamma(2, size=(12, 5)), np.linspace(0, 6, 25)
    found = performance_profile({f"{i}": column for i, column in enumerate(matrix.T)}, thresholds, rng=rng())
    assert found.share == pytest.approx(np.array([(matrix > threshold).mean() for threshold in thresholds]))
    assert np.all(np.diff(found.share) <= 0)
    assert np.all((found.low <= found.share) & (found.share <= found.high))


def test_intervals_of_a_profile_are_those_of_binomial_shares() -> None:
    """In a resample of n episodes, the number of scores above a threshold is binomial."""
    scores = rng(2).normal(size=400)
    found = performance_profile(scores, [-1.0, 0.0, 1.5], rng=rng(), resamples=20_000)
    for share, low, high in zip(found.share, found.low, found.high, strict=True):
        expected = np.array(stats.binom(400, share).interval(0.95)) / 400
        assert [low, high] == pytest.approx(expected, abs=1.01 / 400)


def test_tasks_weigh_the_same_in_a_profile() -> None:
    found = performance_profile({"a": [1.0] * 30, "b": [0.0, 0.0]}, [0.5], rng=rng())
    assert found.share == pytest.approx([0.5])


def test_a_profile_of_one_episode_has_no_interval() -> None:
    found = performance_profile([1.0], [0.0, 2.0], rng=rng())
    assert found.share.tolist() == [1.0, 0.0]
    assert np.isnan(found.low).all()


def test_profiles_are_repeatable_and_refuse_what_they_cannot_use() -> None:
    scores = rng(3).normal(size=50)
    one, other = (performance_profile(scores, [0.0, 1.0], rng=rng(4)) for _ in range(2))
    assert np.array_equal(one.low, other.low)
    with pytest.raises(ConfigurationError, match="thresholds: 1 of 2 values are not finite"):
        performance_profile(scores, [0.0, np.nan], rng=rng())
    with pytest.raises(ConfigurationError, match="thresholds"):
        performance_profile(scores, [], rng=rng())
    with pytest.raises(ConfigurationError, match="no scores"):
        performance_profile([], [0.0], rng=rng())


def test_a_curve_by_hand() -> None:
    runs = [([0, 10, 20], [0.0, 10.0, 20.0]), ([5, 15, 30], [1.0, 3.0, 6.0])]
    found = learning_curve(runs, rng=rng(), steps=[5, 10, 20])
    assert found.value.tolist() == [(5 + 1) / 2, (10 + 2) / 2, (20 + 4) / 2]
    assert found.low.tolist() == [
        1.0,
        2.0,
        4.0,
    ]  # each of the two runs is drawn twice in a quarter of the resamples
    assert found.high.tolist() == [5.0, 10.0, 20.0]
    assert (found.runs, found.outside) == (2, 2)  # steps 0 and 30 are in one run only


def test_the_grid_reaches_over_what_all_runs_cover_and_no_further() -> None:
    runs = [([0, 100], [0.0, 1.0]), ([20, 80], [0.0, 1.0])]
    found = learning_curve(runs, rng=rng(), points=4)
    assert found.steps.tolist() == [20.0, 40.0, 60.0, 80.0]
    with pytest.raises(ConfigurationError, match=r"20 to 81 are requested, but only 20 to 80 are covered"):
        learning_curve(runs, rng=rng(), steps=[20, 81])


def test_values_at_the_same_step_are_averaged() -> None:
    runs = [([1, 1, 2], [0.0, 4.0, 6.0]), ([1, 2], [2.0, 6.0])]
    assert learning_curve(runs, rng=rng(), steps=[1, 2]).value.tolist() == [2.0, 6.0]


def test_the_interval_of_a_curve_is_that_of_scipy_at_each_step() -> None:
    values = rng(1).normal(size=(12, 3)).cumsum(axis=1)
    runs = [([0, 1, 2], row) for row in values]
    for average, statistic in (
        ("mean", np.mean),
        ("iqm", lambda x, axis: stats.trim_mean(x, 0.25, axis=axis)),
    ):
        found = learning_curve(runs, rng=rng(), steps=[0, 1, 2], average=average, resamples=10_000)
        assert found.value == pytest.approx(statistic(values, axis=0))
        for at in range(3):
            theirs = stats.bootstrap((values[:, at],), statistic, method="percentile", rng=rng(2))
            noise = 0.1 * theirs.standard_error
            assert [found.low[at], found.high[at]] == pytest.approx(
                list(theirs.confidence_interval), abs=noise
            )


def test_the_order_of_runs_does_not_matter() -> None:
    runs = [(np.arange(5), rng(seed).normal(size=5)) for seed in range(6)]
    one, other = learning_curve(runs, rng=rng()), learning_curve(runs[::-1], rng=rng())
    assert one.low == pytest.approx(other.low, rel=1e-12)
    assert one.value == pytest.approx(other.value, rel=1e-12)


def test_one_run_and_one_step() -> None:
    found = learning_curve([([3], [7.0])], rng=rng())
    assert (found.steps.tolist(), found.value.tolist()) == ([3.0], [7.0])
    assert np.isnan(found.low).all()


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([], "no runs"),
        ([([0, 1], [0.0, 1.0]), ([2, 3], [0.0, 1.0])], "no steps in common: one begins at step 2"),
        (
            [([0, 2, 1], [0.0, 1.0, 2.0])],
            r"run 0: steps must not decrease, but fall from 2 to 1 "
            r"\(position 2\)",
        ),
        ([([0], [1.0]), ([0, 1], [1.0, np.nan])], "run 1, values: 1 of 2 values are not finite"),
        ([([0, 1], [1.0])], r"run 0: .*\(2,\) and \(1,\)"),
        ([([], [])], "run 0"),
    ],
)
def test_curves_that_cannot_be_drawn_are_refused(runs: list, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        learning_curve(runs, rng=rng())


def test_wrong_settings_of_a_curve_are_refused() -> None:
    runs = [([0, 1], [0.0, 1.0])]
    with pytest.raises(ConfigurationError, match="average must be 'mean' or 'iqm', not 'mode'"):
        learning_curve(runs, rng=rng(), average="mode")
    with pytest.raises(ConfigurationError, match="points"):
        learning_curve(runs, rng=rng(), points=0)
