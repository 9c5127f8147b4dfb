"""Results in BALROG's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from mosaic_lab import operators
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.planning import plan_evaluation
from mosaic_lab.evaluation.reports.balrog import write_balrog_results


class Played:
    """One episode of BALROG's dummy in an environment whose name has a dot."""

    def __init__(self, folder: Path) -> None:
        dummy = operators.balrog(agent="dummy")
        self.plan: EvaluationPlan = plan_evaluation(
            env="Odd-v1.5", operators={"dummy": dummy}, seeds=[1], find_run=str
        )
        self.recording = folder
        self.versions: dict[str, dict[str, str]] = {}

    def records(self) -> list[dict[str, Any]]:
        key = {"operator": "dummy", "seed": 1, "episode": 0, "index": 0, "episode_seed": 1}
        outcome = {"status": "ok", "return": 1.0, "steps": 1, "terminated": True, "truncated": False}
        return [key | outcome]

    def steps(self, operator: str, seed: int, episode: int = 0) -> pd.DataFrame:
        return pd.DataFrame({"reward": [1.0], "terminated": [True], "truncated": [False]})


def test_a_task_keeps_the_dot_in_its_name(tmp_path: Path) -> None:
    table = write_balrog_results([Played(tmp_path)], tmp_path / "results")
    assert list(table["progression_percentage"]) == [100, 100]
    files = sorted(path.name for path in (tmp_path / "results").rglob("*_run_*"))
    assert files == ["Odd-v1.5_run_00.csv", "Odd-v1.5_run_00.json"]
