"""Fixtures for evaluation tests: a store whose runs end with the test, and results without timings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from mosaic_contract.codec import seal
from support import store

from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.launch import evaluate
from mosaic_lab.evaluation.request import EvaluateRequest

Evaluate = Callable[..., Evaluation]


@pytest.fixture
def start_evaluation(tmp_path: Path) -> Iterator[Evaluate]:
    """`evaluate` in the test's own store; no process of its runs may survive the test.

    It starts one arena unless the test passes ``parallel``: starting an arena takes longer than playing the
    tests' short episodes.
    """
    with store(tmp_path / "runs") as supervisor:
        yield lambda env, operators, **arguments: evaluate(
            supervisor, EvaluateRequest(**{"env": env, "operators": operators, "parallel": 1, **arguments})
        )


def outcomes(evaluation: Evaluation) -> pd.DataFrame:
    """Return the results without their timings, which differ from run to run."""
    return evaluation.results().drop(columns=["seconds", "latency_ms"])


def resealed(lines: bytes) -> bytes:
    """Recompute the checksum of each line after the test has changed it."""
    return b"".join(seal(line[:-24] + b"}\n") for line in lines.splitlines(keepends=True))


def odd(**arguments: Any) -> dict[str, Any]:
    """Arguments of an evaluation in the family "odd": 20 steps per episode, return 210."""
    return {"env": "Odd-v0", "family": "odd", **arguments}
