"""Speed of summaries with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from benchmarks.measuring import figure_row, print_table, seconds, size
from numpy.typing import NDArray

from mosaic_lab.evaluation import probability_of_improvement, summary

OPERATORS, EPISODES, ROUNDS = 10, size(10_000, 100), size(3, 1)
RUNS = size(1000, 20)
SHAPES: dict[str, tuple[tuple[str, ...], tuple[int, ...], str]] = {
    f"{EPISODES:,} episodes": (("task",), (EPISODES,), "<= 2 s"),
    f"10 tasks x {RUNS:,} episodes": (tuple(f"task {task}" for task in range(10)), (RUNS,), ""),
    "26 tasks x 10 runs": (tuple(f"task {task}" for task in range(26)), (10,), ""),
    f"5 runs of {RUNS:,} episodes": (("task",), (5, RUNS), ""),
}
"""Shapes of scores by name: the tasks, the shape of a task's scores, the target."""


def test_summaries() -> None:
    draw = np.random.default_rng(0)
    rows = []
    for name, (tasks, shape, target) in SHAPES.items():
        scores = {
            f"operator {index}": {task: draw.normal(index / 10, size=shape) for task in tasks}
            for index in range(OPERATORS)
        }
        taken = best(partial(summary, scores, rng=np.random.default_rng(1), target=1.0))
        rows.append(figure_row(f"summary() of {OPERATORS} operators x {name}", taken, target, "{:.2f}"))
    first, second = (draw.normal(size=EPISODES) for _ in range(2))
    rows.append(
        figure_row("probability_of_improvement()", best(partial(improvement, first, second)), "", "{:.2f}")
    )
    print_table(f"Best of {ROUNDS}", ["what", "seconds", "target", "verdict"], rows)


def improvement(first: NDArray[np.float64], second: NDArray[np.float64]) -> object:
    return probability_of_improvement(first, second, rng=np.random.default_rng(1))


def best(action: Callable[[], object]) -> float:
    """Return the seconds of the fastest of `ROUNDS` calls."""
    return min(seconds(action) for _ in range(ROUNDS))
