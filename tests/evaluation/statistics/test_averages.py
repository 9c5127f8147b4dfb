"""Averages of scores and their intervals: by hand, against SciPy, and against rliable's definitions.

rliable cannot be imported with pandas 3 (its dependency arch 7 fails), so its published definitions
(Agarwal et al. 2021) are implemented here with SciPy.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import Estimate, Summary, normalise_scores, summary

STATISTICS = ("mean", "median", "iqm", "optimality_gap")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def of(scores: object, target: float | None = 1.0, seed: int = 0, **others: object) -> Summary:
    """The summary of one operator."""
    return summary({"it": scores}, rng=rng(seed), target=target, **others)["it"]


def table(matrix: np.ndarray) -> dict[str, np.ndarray]:
    """Convert rliable's (runs, tasks) array to {task: scores}."""
    return {f"task {index}": column for index, column in enumerate(matrix.T)}


def test_eight_scores_by_hand() -> None:
    found = of([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 99.0], target=5.0)
    assert found.mean.value == 15.0
    assert found.median.value == 3.5
    assert found.iqm.value == 3.5  # of 2, 3, 4, 5
    assert found.optimality_gap is not None
    assert found.optimality_gap.value == (5 + 4 + 3 + 2 + 1) / 8
    assert found.task_median is None
    assert (found.episodes, found.units) == (8, 8)


def test_an_odd_number_of_scores_and_one_that_quarters_do_not_divide() -> None:
    found = of([7.0, 1.0, 3.0, 100.0, 5.0])
    assert found.median.value == 5.0
    assert found.iqm.value == 5.0  # 5 // 4 = 1 score is cut off at either end
    assert of([1.0, 2.0, 30.0]).iqm.value == 11.0  # 3 // 4 = 0: no score is cut off


def test_zero_is_a_target() -> None:
    found = of([-1.0, 1.0], target=0.0)
    assert found.optimality_gap is not None
    assert found.optimality_gap.value == 0.5
    assert of([-1.0, 1.0], target=None).optimality_gap is None


@pytest.mark.parametrize(("runs", "tasks"), [(2, 2), (5, 3), (10, 26), (33, 1), (4, 7)])
def test_estimates_are_those_that_rliable_defines(runs: int, tasks: int) -> None:
    matrix = rng(runs).lognormal(size=(runs, tasks))
    found = of(table(matrix), target=1.5)
    assert found.mean.value == pytest.approx(matrix.mean(axis=0).mean())
    assert found.iqm.value == pytest.approx(stats.trim_mean(matrix, 0.25, axis=None))
    assert found.median.value == pytest.approx(np.median(matrix))
    assert found.optimality_gap is not None
    assert found.optimality_gap.value == pytest.approx(1.5 - np.minimum(matrix, 1.5).mean())
    if tasks > 1:
        assert found.task_median is not None
        assert found.task_median.value == pytest.approx(np.median(matrix.mean(axis=0)))


def naive(matrix: np.ndarray, target: float, resamples: int) -> dict[str, np.ndarray]:
    """rliable's procedure: compute every resample, drawing each task's runs with replacement."""
    generator, (runs, tasks) = rng(99), matrix.shape
    drawn = [
        matrix[generator.integers(0, runs, size=matrix.shape), np.arange(tasks)] for _ in range(resamples)
    ]
    return {
        "mean": np.array([one.mean(axis=0).mean() for one in drawn]),
        "median": np.array([np.median(one) for one in drawn]),
        "iqm": np.array([stats.trim_mean(one, 0.25, axis=None) for one in drawn]),
        "optimality_gap": np.array([target - np.minimum(one, target).mean() for one in drawn]),
        "task_median": np.array([np.median(one.mean(axis=0)) for one in drawn]),
    }


@pytest.mark.parametrize("runs_and_tasks", [(40, 1), (7, 6)])
def test_intervals_are_those_of_resamples_really_made(runs_and_tasks: tuple[int, int]) -> None:
    matrix = rng(1).gamma(2.0, size=runs_and_tasks)
    found = of(table(matrix), target=2.5, resamples=20_000)
    for name, replicates in naive(matrix, 2.5, 6000).items():
        estimate = getattr(found, name)
        if estimate is None:
            continue
        noise = 0.12 * replicates.std()  # about three standard errors of a 2.5% quantile of 6000
        assert [estimate.low, estimate.high] == pytest.approx(
            np.quantile(replicates, [0.025, 0.975]), abs=noise
        )


def test_the_interval_of_a_mean_is_that_of_scipy() -> None:
    scores = rng(2).exponential(size=200)
    theirs = stats.bootstrap(
        (scores,), np.mean, n_resamples=20_000, method="percentile", rng=rng(3), confidence_level=0.9
    ).confidence_interval
    ours = of(scores, resamples=20_000, confidence=0.9).mean
    assert [ours.low, ours.high] == pytest.approx(list(theirs), abs=0.06 * scores.std() / math.sqrt(200))
    assert ours.confidence == 0.9


@pytest.mark.parametrize(
    ("name", "truth", "least"),
    [
        ("mean", 3.0, 0.91),
        ("median", 3.0, 0.91),
        ("iqm", 3.0, 0.91),
        ("optimality_gap", 1 / math.sqrt(2 * math.pi), 0.88),  # skewed: the interval is a little too narrow
    ],
)
def test_intervals_cover_the_truth_as_often_as_they_say(name: str, truth: float, least: float) -> None:
    """500 samples of 40 normal scores, with 95% percentile intervals."""
    generator = rng(4)
    operators = {str(index): generator.normal(3.0, 1.0, size=40) for index in range(500)}
    found = summary(operators, rng=generator, target=3.0, resamples=1000).values()
    covered = [getattr(one, name).low <= truth <= getattr(one, name).high for one in found]
    assert least <= np.mean(covered) <= 0.98


def test_equally_seeded_generators_give_the_same_interval_and_others_another() -> None:
    scores = rng(5).normal(size=100)
    assert of(scores, seed=1) == of(scores, seed=1)
    assert of(scores, seed=1).mean.low != of(scores, seed=2).mean.low


def test_the_order_of_episodes_tasks_and_runs_does_not_matter() -> None:
    scores = {"b": rng(6).normal(size=50), "a": rng(7).normal(size=(6, 9)), "c": rng(8).normal(size=31)}
    shuffled = {
        "c": rng(1).permutation(scores["c"]),
        "b": rng(2).permutation(scores["b"]),
        "a": rng(3).permuted(scores["a"], axis=1)[::-1],
    }
    assert numbers(of(scores)) == pytest.approx(numbers(of(shuffled)), rel=1e-12)


def test_an_interval_does_not_depend_on_the_company() -> None:
    operators = {
        "one": rng(9).normal(size=300),
        "two": rng(10).normal(size=300),
        "three": rng(11).normal(size=70),
    }
    together = summary(operators, rng=rng(), target=1.0)
    assert list(together) == ["one", "two", "three"]
    for name, scores in operators.items():
        assert numbers(together[name]) == pytest.approx(numbers(of(scores)), rel=1e-12)


def test_scores_shifted_and_scaled_shift_and_scale_all_estimates() -> None:
    scores = rng(12).normal(size=(100))
    before, after = of(scores, target=0.5), of(1e6 + 10 * scores, target=1e6 + 5)
    for name in ("mean", "median", "iqm"):
        expected = 1e6 + 10 * np.array(numbers_of(getattr(before, name)))
        assert numbers_of(getattr(after, name)) == pytest.approx(expected, rel=1e-13)
    assert before.optimality_gap is not None
    assert after.optimality_gap is not None
    assert after.optimality_gap.value == pytest.approx(10 * before.optimality_gap.value, rel=1e-9)


def test_tasks_weigh_the_same_whatever_their_number_of_episodes() -> None:
    few, many = rng(13).normal(0, 1, size=12), rng(14).normal(9, 1, size=36)
    found = of({"few": few, "many": many})
    evenly = np.concatenate([np.repeat(few, 3), many])  # the same weighting by repetition
    assert found.mean.value == pytest.approx((few.mean() + many.mean()) / 2)
    assert found.median.value == pytest.approx(np.median(evenly))
    assert found.iqm.value == pytest.approx(stats.trim_mean(evenly, 0.25))
    assert found.episodes == 48


def test_episodes_of_a_run_are_resampled_together() -> None:
    """Episodes that repeat their run's score add no evidence to it."""
    runs = rng(15).normal(size=8)
    repeated = np.repeat(runs[:, None], 50, axis=1)
    together, apart = of({"it": repeated}), of({"it": repeated.ravel()})
    alone = of({"it": runs})
    assert (together.episodes, together.units) == (400, 8)
    assert numbers_of(together.mean) == pytest.approx(numbers_of(alone.mean))
    assert numbers_of(together.iqm) == pytest.approx(numbers_of(alone.iqm))
    assert width(apart.mean) < width(together.mean) / 5


def test_runs_of_unequal_lengths_weigh_the_same() -> None:
    found = of({"it": [[0.0, 0.0, 0.0, 0.0], [3.0], [6.0, 6.0]]})
    assert found.mean.value == pytest.approx(3.0)
    assert found.median.value == pytest.approx(3.0)
    assert (found.episodes, found.units) == (7, 3)


@pytest.mark.parametrize("value", [0.1, -3.0, 1e9 + 0.1])
@pytest.mark.parametrize("shape", [(10,), (4, 5)])
def test_constant_scores_have_an_interval_without_width(value: float, shape: tuple[int, ...]) -> None:
    found = of({"it": np.full(shape, value)})
    for name in ("mean", "median", "iqm"):
        assert numbers_of(getattr(found, name)) == (value, value, value)


def test_one_episode_says_nothing_of_the_spread() -> None:
    for found in (of([5.0]), of({"a": [5.0], "b": [5.0]}), of({"a": [5.0], "b": [1.0, 9.0]})):
        assert found.mean.value == 5.0
        assert math.isnan(found.mean.low)
        assert math.isnan(found.iqm.high)


def test_whole_numbers_and_booleans_are_scores() -> None:
    assert of([1, 2, 3]).mean.value == 2.0
    assert of(np.array([True, False])).mean.value == 0.5


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([], "no scores"),
        ({}, "no tasks"),
        ({"a": []}, "'a'.*no scores"),
        ({"a": [[1.0], []]}, "run without scores"),
        ([1.0, np.nan, np.nan], r"'it': 2 of 3 values are not finite .* nan at position 1"),
        ({"a": [1.0], "b": [np.inf]}, "task 'b': 1 of 1 .* inf at position 0"),
        ([1e200], "1e150"),
        (5.0, r"not \(\)"),
        (np.zeros((2, 3)), "two-dimensional scores need a task name"),
        ({"a": np.zeros((2, 3, 4))}, r"not \(2, 3, 4\)"),
        (["1", "2"], "scores must be numbers"),
        ([None, 1.0], "scores must be numbers"),
        ("scores", "scores must be numbers"),
        ({1: [1.0]}, "task names must be strings, not 1"),
    ],
)
def test_scores_that_cannot_be_used_are_errors_that_say_where(scores: object, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        of(scores)


def test_operators_lacking_tasks_are_not_compared() -> None:
    with pytest.raises(ConfigurationError, match=r"same tasks.*: one lacks 'b'; two lacks 'a'"):
        summary({"one": {"a": [1.0]}, "two": {"b": [1.0]}}, rng=rng())
    with pytest.raises(ConfigurationError, match="no operators"):
        summary({}, rng=rng())
    with pytest.raises(ConfigurationError, match=r"pass \{name: scores\}, not \[1.0\]"):
        summary([1.0], rng=rng())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rng": 3}, "Generator, not 3"),
        ({"rng": None}, "Generator, not None"),
        ({"resamples": 0}, "resamples.*0"),
        ({"resamples": 2.5}, "resamples.*2.5"),
        ({"confidence": 95}, "confidence.*95"),
        ({"target": math.nan}, "target.*nan"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        summary({"it": [1.0, 2.0]}, **({"rng": rng()} | wrong))


def test_memory_is_bounded_by_the_scores() -> None:
    import tracemalloc

    scores = {"it": rng(16).normal(size=(20, 1500))}
    tracemalloc.start()
    of(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 30_000  # 200 bytes per score; one array of resamples would take 16,000


def test_scores_are_normalised_task_by_task() -> None:
    found = normalise_scores(
        {"a": [10.0, 20.0, 40.0], "b": [[-5.0], [0.0]]}, low={"a": 10, "b": 0}, high={"a": 30, "b": -10}
    )
    assert found["a"].tolist() == [0.0, 0.5, 1.5]
    assert found["b"].tolist() == [[0.5], [0.0]]
    with pytest.raises(ConfigurationError, match=r"no high score.*'a'"):
        normalise_scores({"a": [1.0]}, low={"a": 0.0}, high={})
    with pytest.raises(ConfigurationError, match=r"both 2"):
        normalise_scores({"a": [1.0]}, low={"a": 2.0}, high={"a": 2.0})


def numbers_of(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.low, estimate.high


def numbers(found: Summary) -> list[float]:
    kept = [getattr(found, name) for name in (*STATISTICS, "task_median")]
    return [number for estimate in kept if estimate is not None for number in numbers_of(estimate)]


def width(estimate: Estimate) -> float:
    return estimate.high - estimate.low
