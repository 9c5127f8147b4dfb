"""Two operators compared: differences on shared seeds, and the probability of improvement."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import mean_difference, paired_difference, probability_of_improvement, summary


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_differences_by_hand_and_what_is_missing() -> None:
    found = paired_difference(
        ([3, 1, 2, 9], [30.0, 10.0, 25.0, 5.0]), ([1, 2, 3, 7], [9.0, 20.0, 28.0, 0.0]), rng=rng()
    )
    assert found.seeds == (1, 2, 3)
    assert found.differences == (1.0, 5.0, 2.0)
    assert found.mean.value == pytest.approx(8 / 3)
    assert found.median.value == 2.0
    assert found.only_first == (9,)
    assert found.only_second == (7,)
    assert 1.0 <= found.mean.low < found.mean.high <= 5.0


def test_a_seed_with_several_episodes_counts_once() -> None:
    found = paired_difference(([1, 1, 1, 2], [0.0, 3.0, 6.0, 8.0]), ([2, 1], [4.0, 1.0]), rng=rng())
    assert found.differences == (2.0, 4.0)
    assert found.mean.value == 3.0


def test_seeds_may_be_texts() -> None:
    found = paired_difference((["a/1", "b/1"], [1.0, 2.0]), (["b/1", "a/1"], [1.0, 1.0]), rng=rng())
    assert found.seeds == ("a/1", "b/1")
    assert found.differences == (0.0, 1.0)


def test_what_operators_share_in_a_seed_cancels() -> None:
    seeds, difficulty = np.arange(200), rng(1).normal(0, 100, size=200)
    first = difficulty + rng(2).normal(1.0, 0.5, size=200)
    second = difficulty + rng(3).normal(0.0, 0.5, size=200)
    paired = paired_difference((seeds, first), (seeds, second), rng=rng())
    assert 0.8 < paired.mean.low < 1.0 < paired.mean.high < 1.2
    alone = summary({"first": first}, rng=rng())["first"].mean
    assert alone.high - alone.low > 20


def test_the_interval_is_that_of_scipys_bootstrap_of_differences() -> None:
    seeds, first, second = np.arange(60), rng(4).gamma(2, size=60), rng(5).gamma(2, size=60)
    found = paired_difference((seeds, first), (seeds, second), rng=rng(), resamples=20_000)
    for ours, statistic in ((found.mean, np.mean), (found.median, np.median)):
        theirs = stats.bootstrap(
            (first - second,), statistic, n_resamples=20_000, method="percentile", rng=rng(6)
        )
        low, high = theirs.confidence_interval
        noise = 0.06 * theirs.standard_error
        assert [ours.low, ours.high] == pytest.approx([low, high], abs=noise)


def test_the_order_of_episodes_does_not_matter() -> None:
    seeds, first, second = np.arange(30), rng(1).normal(size=30), rng(2).normal(size=30)
    order = rng(3).permutation(30)
    straight = paired_difference((seeds, first), (seeds, second), rng=rng())
    assert paired_difference((seeds[order], first[order]), (seeds, second), rng=rng()) == straight


def test_one_shared_seed_says_nothing_of_the_spread() -> None:
    found = paired_difference(([1, 2], [1.0, 2.0]), ([2, 3], [1.5, 2.0]), rng=rng())
    assert found.mean.value == 0.5
    assert math.isnan(found.mean.low)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (([1], [1.0]), ([2], [1.0]), "no seed is shared.*1 seeds such as 1.* 1 such as 2"),
        (([1, 2], [1.0]), ([2], [1.0]), r"first operator: seeds and scores.*\(2,\) and \(1,\)"),
        (([1], [1.0]), ([], []), "second operator: seeds and scores"),
        (([1], [np.nan]), ([1], [1.0]), "first operator: 1 of 1 values are not finite"),
        (([1.5], [1.0]), ([1], [1.0]), "integers or strings, not float64"),
        (([1], [1.0]), (["1"], [1.0]), "first operator are int64, of the second <U1"),
    ],
)
def test_pairs_that_cannot_be_made_are_refused(first: tuple, second: tuple, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        paired_difference(first, second, rng=rng())


def test_improvement_by_hand() -> None:
    found = probability_of_improvement([2.0, 3.0], [1.0, 2.0, 4.0], rng=rng())
    # 2 beats 1 and draws with 2; 3 beats 1 and 2: 3.5 of 6 pairs
    assert found.value == pytest.approx(3.5 / 6)


@pytest.mark.parametrize("whole", [False, True])
def test_improvement_is_the_mann_whitney_statistic_averaged_over_tasks(whole: bool) -> None:
    first, second = rng(1).normal(1, 2, size=(15, 4)), rng(2).normal(0, 2, size=(11, 4))
    if whole:  # many ties
        first, second = first.round(), second.round()
    published = [
        stats.mannwhitneyu(first[:, task], second[:, task], alternative="greater").statistic / (15 * 11)
        for task in range(4)
    ]
    names = "wxyz"
    found = probability_of_improvement(
        dict(zip(names, first.T, strict=True)), dict(zip(names, second.T, strict=True)), rng=rng()
    )
    assert found.value == pytest.approx(np.mean(published))


def test_the_interval_of_improvement_is_that_of_resamples_really_made() -> None:
    first, second, generator = rng(3).normal(0.5, 1, size=20), rng(4).normal(0, 1, size=14), rng(5)
    made = []
    for _ in range(4000):
        x, y = generator.choice(first, 20), generator.choice(second, 14)
        made.append(((x[:, None] > y).mean() + (x[:, None] >= y).mean()) / 2)
    found = probability_of_improvement(first, second, rng=rng(), resamples=10_000)
    low, high = np.quantile(made, [0.025, 0.975])
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.02)


def test_improvement_of_one_over_the_other_and_back_add_up() -> None:
    first, second = rng(6).normal(size=30), rng(7).normal(size=40)
    there = probability_of_improvement(first, second, rng=rng()).value
    back = probability_of_improvement(second, first, rng=rng()).value
    assert there + back == pytest.approx(1.0)
    assert probability_of_improvement(first, first, rng=rng()).value == pytest.approx(0.5)


def test_certain_improvement_and_constant_scores() -> None:
    certain = probability_of_improvement([5.0, 6.0], [1.0, 2.0], rng=rng())
    assert (certain.value, certain.low, certain.high) == pytest.approx((1.0, 1.0, 1.0))
    equal = probability_of_improvement(np.ones(9), np.ones(5), rng=rng())
    assert (equal.value, equal.low, equal.high) == pytest.approx((0.5, 0.5, 0.5))


def test_improvement_resamples_runs_with_all_their_episodes() -> None:
    first, second = rng(8).normal(0.3, 1, size=6), rng(9).normal(size=6)
    runs = probability_of_improvement(
        {"it": np.repeat(first[:, None], 20, axis=1)},
        {"it": np.repeat(second[:, None], 20, axis=1)},
        rng=rng(),
    )
    alone = probability_of_improvement({"it": first}, {"it": second}, rng=rng())
    assert (runs.value, runs.low, runs.high) == pytest.approx((alone.value, alone.low, alone.high))


def test_improvement_needs_the_same_tasks() -> None:
    with pytest.raises(ConfigurationError, match="second lacks 'b'"):
        probability_of_improvement({"a": [1.0], "b": [2.0]}, {"a": [1.0]}, rng=rng())
    assert math.isnan(probability_of_improvement([1.0], [1.0, 2.0], rng=rng()).low)


def test_a_difference_without_pairs_is_that_of_scipys_bootstrap_of_two_samples() -> None:
    first, second = rng(4).gamma(2, size=7), rng(5).gamma(3, size=9)
    found = mean_difference({"": first}, {"": second}, rng=rng(), resamples=20_000).mean
    theirs = stats.bootstrap(
        (first, second),
        lambda one, other, axis=-1: one.mean(axis) - other.mean(axis),
        n_resamples=20_000,
        method="percentile",
        rng=rng(6),
    ).confidence_interval
    assert found.value == pytest.approx(first.mean() - second.mean())
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.05)
    assert math.isnan(mean_difference({"": [1.0]}, {"": second}, rng=rng()).mean.low)


def test_a_difference_over_tasks_weighs_them_equally() -> None:
    first = {"a": [[1.0, 3.0], [2.0, 2.0]], "b": [10.0, 10.0, 10.0]}
    second = {"a": [0.0, 0.0], "b": [4.0, 4.0]}
    assert mean_difference(first, second, rng=rng()).mean.value == pytest.approx((2.0 + 6.0) / 2)
