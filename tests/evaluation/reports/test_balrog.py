"""Results exported in BALROG's file format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from mosaic_contract.codec import encode_line, seal

from mosaic_lab import operators
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.planning import plan_evaluation
from mosaic_lab.evaluation.reports.balrog import write_balrog_results
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.operators.balrog_agents import Agent


class Played:
    """Stand-in for an evaluation: one episode of a BALROG agent, in an environment with a dot in its name."""

    def __init__(self, folder: Path, agent: Agent = "dummy") -> None:
        played = {agent: operators.balrog(agent=agent)}
        request = EvaluateRequest(env="Odd-v1.5", operators=played, seeds=[1])
        self.plan: EvaluationPlan = plan_evaluation(request, str)
        self.recording = folder
        self.versions: dict[str, dict[str, str]] = {}

    def records(self) -> list[dict[str, Any]]:
        (operator,) = self.plan.lanes
        key = {"operator": operator, "seed": 1, "episode": 0, "index": 0, "episode_seed": 1}
        outcome = {"status": "ok", "return": 1.0, "steps": 1, "terminated": True, "truncated": False}
        return [key | outcome]

    def steps(self, operator: str, seed: int, episode: int = 0) -> pd.DataFrame:
        return pd.DataFrame({"reward": [-1.0], "terminated": [True], "truncated": [False]})


def test_a_task_keeps_the_dot_in_its_name(tmp_path: Path) -> None:
    table = write_balrog_results([Played(tmp_path)], tmp_path / "results")
    assert list(table["progression_percentage"]) == [100, 100]
    files = sorted(path.name for path in (tmp_path / "results").rglob("*_run_*"))
    assert files == ["Odd-v1.5_run_00.csv", "Odd-v1.5_run_00.json"]


def test_a_spreadsheet_calculates_nothing_that_a_model_has_answered(tmp_path: Path) -> None:
    answer = '=HYPERLINK("http://example.org")\nACTION: wait'
    exchange = {"lane": "cot", "episode_index": 0, "step_index": 0, "answer": answer}
    (tmp_path / "exchanges.jsonl").write_bytes(seal(encode_line(exchange)))
    write_balrog_results([Played(tmp_path, "cot")], tmp_path / "results")
    (file,) = (tmp_path / "results").rglob("*.csv")
    (row,) = pd.read_csv(file).to_dict("records")
    assert (row["Action"], row["Reasoning"], row["Reward"]) == ("wait", f"'{answer}", -1.0)
