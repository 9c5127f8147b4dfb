"""Evaluations on a cluster, tested without one: chunk sizes, plans of parts, inputs, refused requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluation.evaluation_fixtures import Evaluate

from mosaic_lab import operators
from mosaic_lab.engines import clusters
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.engines.job import with_inputs
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.parts import arena_path, chunk_size, part_plan
from mosaic_lab.evaluation.planning import plan_evaluation
from mosaic_lab.evaluation.request import EvaluateRequest

ENV = "CartPole-v1"


def sizes(episodes: int, parallel: int, seconds: float | None = None) -> list[int]:
    """Return the sizes of the chunks into which the episodes are divided."""
    found = []
    while episodes:
        found.append(chunk_size(episodes, parallel, seconds))
        episodes -= found[-1]
    return found


def test_chunks_become_smaller_so_that_nothing_long_begins_last() -> None:
    found = sizes(10_000, 64)
    assert found[0] == 79  # half of an even share for each of 64
    assert found == sorted(found, reverse=True)
    assert set(found[-20:-1]) == {10}
    assert sum(found) == 10_000


def test_parts_are_large_enough_to_be_worth_starting() -> None:
    assert sizes(10_000, 64, seconds=0.01)[0] == 1_000  # ten seconds of play
    assert sizes(10_000, 64, seconds=60.0) == sizes(10_000, 64)
    assert sizes(7, 64) == [7]


def test_the_plan_of_a_part_has_what_its_episodes_need() -> None:
    both = {"one": operators.random(), "other": operators.passive()}
    plan = plan_evaluation(EvaluateRequest(env=ENV, operators=both, episodes=2), find_none)
    jobs = [job for job in plan.jobs() if job.label == "other"][50:55]
    part = part_plan(plan, jobs)
    assert (list(part.lanes), part.seeds, part.parallel) == (["other"], [25, 26, 27], 1)
    assert [spec.name for spec in part.operators.values()] == ["other"]
    assert part.jobs() == jobs


def test_checkpoints_are_sent_and_found_by_their_places(tmp_path: Path) -> None:
    policy = tmp_path / "step-100.pt"
    policy.write_bytes(b"weights")
    policy.with_suffix(".json").write_text("{}")
    config = {
        "operators": {"1": {"settings": {"checkpoint": str(policy), "deterministic": True}}},
        "digests": {str(policy): "abc"},
    }
    changed, files = with_inputs("evaluation", json.loads(json.dumps(config)))
    assert changed["operators"]["1"]["settings"]["checkpoint"] == "inputs/1/step-100.pt"
    assert changed["operators"]["1"]["settings"]["deterministic"] is True
    assert changed["digests"] == {"inputs/1/step-100.pt": "abc"}
    assert {place: Path(file).name for place, file in files.items()} == {
        "inputs/1/step-100.pt": "step-100.pt",
        "inputs/1/step-100.json": "step-100.json",
    }


def test_steps_are_found_in_the_folder_of_a_part(tmp_path: Path) -> None:
    assert arena_path(tmp_path, "0-random.1") == tmp_path / "arenas" / "0-random.1"
    there = tmp_path / "parts" / "20261123-120000-part-abcd" / "arenas" / "0-random.1"
    assert arena_path(tmp_path, "20261123-120000-part-abcd.0-random.1") == there


def test_what_a_cluster_does_not_play_is_refused(
    start_evaluation: Evaluate, own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters.add(Cluster("gpu-lab", "10.0.0.5:6379"))
    monkeypatch.setenv("OPENAI_API_KEY", "for-nobody")
    (tmp_path / "policy.py").write_text("def act(observation):\n    return 0\n")
    given = {
        "LLM": operators.llm("gpt-5-mini"),
        "mine": operators.python(str(tmp_path / "policy.py:act")),
        "dice": operators.random(),
    }
    with pytest.raises(ConfigurationError) as refused:
        start_evaluation(ENV, given, on="gpu-lab", budget={"tokens": 1000})
    assert "budget: language models and recordings are played on this machine only" in str(refused.value)
    assert "LLM: gpt-5-mini calls a language model, whose key and recording stay" in str(refused.value)
    assert "is your own code, which the nodes of a cluster do not have: leave out on=" in str(refused.value)
    assert "dice" not in str(refused.value)
    with pytest.raises(ConfigurationError, match="no cluster 'gpu-lap'; did you mean 'gpu-lab'"):
        start_evaluation(ENV, {"dice": operators.random()}, on="gpu-lap")
    assert not list(tmp_path.glob("runs/*"))


def find_none(run_id: str) -> None:
    raise AssertionError(run_id)
