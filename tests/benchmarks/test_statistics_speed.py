"""The speed of summaries with bootstrap intervals, beside rliable's procedure on the same array.

Where rliable can be imported (its dependency arch 7 needs pandas below 3) it is measured itself; elsewhere
its procedure written out: each resample drawn with `numpy.random.choice`, estimators from numpy and scipy.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.stats
from benchmarks.measuring import cpu_seconds, judged, paired, print_table, ratio_row
from numpy.typing import NDArray

from mosaic_lab.evaluation import probability_of_improvement, summary

OPERATORS, EPISODES, RESAMPLES, GAMMA = 10, 10_000, 2000, 1.0
STATISTICS = ("mean", "median", "iqm", "optimality_gap")

try:
    from rliable import library
except (ImportError, TypeError):
    library = None


def estimators(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean, IQM and optimality gap as rliable defines them, and the median of all scores."""
    return np.array(
        [
            np.mean(np.mean(scores, axis=0)),
            np.median(scores),
            scipy.stats.trim_mean(scores, proportiontocut=0.25, axis=None),
            GAMMA - np.mean(np.minimum(scores, GAMMA)),
        ]
    )


def published(operators: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Bounds (2, statistics) of each operator."""
    matrices = {name: scores[:, None] for name, scores in operators.items()}
    if library is not None:
        return library.get_interval_estimates(matrices, estimators, reps=RESAMPLES)[1]
    found = {}
    for name, scores in matrices.items():
        tasks = np.arange(scores.shape[1])
        made = [
            estimators(scores[np.random.choice(len(scores), scores.shape, replace=True), tasks])
            for _ in range(RESAMPLES)
        ]
        found[name] = np.percentile(made, [2.5, 97.5], axis=0)
    return found


def test_a_summary_of_ten_operators() -> None:
    generator = np.random.default_rng(0)
    operators = {
        f"operator {index}": generator.normal(index / 10, 1, size=EPISODES) for index in range(OPERATORS)
    }
    results: dict[str, dict] = {}

    def ours() -> float:
        return seconds(
            lambda: results.update(ours=summary(operators, rng=np.random.default_rng(1), gamma=GAMMA))
        )

    def theirs() -> float:
        return seconds(lambda: results.update(theirs=published(operators)))

    measured = paired(theirs, ours, pairs=3)
    cpu = cpu_seconds(lambda: summary(operators, rng=np.random.default_rng(1), gamma=GAMMA))
    name = "rliable" if library is not None else "rliable's procedure, with numpy and scipy"
    print_table(
        f"summary() of {OPERATORS} operators x {EPISODES:,} episodes, {RESAMPLES:,} resamples; "
        f"four statistics, ours {cpu:.2f} s of CPU",
        ["against", "theirs s", "ours s", "times faster", "target", "verdict"],
        [ratio_row(name, measured, ">= 5")],
    )
    rows, largest = [], 0.0
    for index, statistic in enumerate(STATISTICS):
        apart = []
        for operator in operators:
            estimate = getattr(results["ours"][operator], statistic)
            deviation = (estimate.high - estimate.low) / 3.92  # of a normal distribution with that interval
            bounds = results["theirs"][operator][:, index]
            apart += list(np.abs(bounds - [estimate.low, estimate.high]) / deviation)
        largest = max(largest, *apart)
        rows.append(
            [statistic, f"{np.median(apart):.3f}", f"{max(apart):.3f}", *judged(max(apart), "<= 0.35")]
        )
    print_table(
        "Bounds of the two apart, in standard deviations of the estimate (resampling noise alone: 0.085 rms)",
        ["statistic", "median", "largest", "target", "verdict"],
        rows,
    )
    assert largest < 0.35


def test_other_shapes() -> None:
    generator = np.random.default_rng(0)
    shapes = {
        "10 operators x 10 tasks x 1,000 episodes": lambda: {
            f"task {task}": generator.normal(size=1000) for task in range(10)
        },
        "10 operators x 26 tasks x 10 runs": lambda: {
            f"task {task}": generator.normal(size=10) for task in range(26)
        },
        "10 operators x 5 runs of 1,000 episodes": lambda: {"task": generator.normal(size=(5, 1000))},
    }
    rows = []
    for name, make in shapes.items():
        operators = {f"operator {index}": make() for index in range(OPERATORS)}
        taken = [
            seconds(lambda scores=operators: summary(scores, rng=np.random.default_rng(1), gamma=GAMMA))
            for _ in range(3)
        ]
        rows.append([f"summary(): {name}", f"{min(taken):.2f}"])
    first, second = generator.normal(size=EPISODES), generator.normal(size=EPISODES)
    taken = [
        seconds(lambda: probability_of_improvement(first, second, rng=np.random.default_rng(1)))
        for _ in range(3)
    ]
    rows.append([f"probability_of_improvement(): {EPISODES:,} episodes each", f"{min(taken):.2f}"])
    print_table(f"Other shapes, {RESAMPLES:,} resamples (best of 3)", ["what", "seconds"], rows)


def seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began
