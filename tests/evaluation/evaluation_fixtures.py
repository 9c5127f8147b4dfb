"""Fixtures of tests of evaluations: stores whose runs end with the test, reproducible results."""

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
    """`evaluate` in a store of the test's own; afterwards nothing of it may be left.

    It starts one arena unless the test gives ``parallel``: an arena takes longer to start than its short
    episodes to play.
    """
    with store(tmp_path / "runs") as supervisor:
        yield lambda env, operators, **arguments: evaluate(
            supervisor, EvaluateRequest(**{"env": env, "operators": operators, "parallel": 1, **arguments})
        )


def outcomes(evaluation: Evaluation) -> pd.DataFrame:
    """The results without what differs each time."""
    return evaluation.results().drop(columns=["seconds", "latency_ms"])


def resealed(lines: bytes) -> bytes:
    """Lines of an evaluation that were changed, each with the checksum of what it is now."""
    return b"".join(seal(line[:-24] + b"}\n") for line in lines.splitlines(keepends=True))


def odd(**arguments: Any) -> dict[str, Any]:
    """An evaluation in the odd family: 20 steps an episode, the return is 210."""
    return {"env": "Odd-v0", "family": "odd", **arguments}
