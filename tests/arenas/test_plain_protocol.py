"""A third-party worker that speaks only the plain protocol: it installs, passes the check and plays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from arenas.comparison_fixtures import Compare
from evaluation.evaluation_fixtures import Evaluate, outcomes
from mosaic_contract.conformance import format_report, level
from support import PEERS

from mosaic_lab import operators, workers
from mosaic_lab.evaluation import Evaluation

FOREIGN = PEERS / "foreign_family"
TAXI = "Taxi-v4"


@pytest.fixture(scope="module")
def foreign(mosaic_home: Path) -> Iterator[Any]:
    """The operator of the third-party worker, installed for the duration of this module."""
    installed = workers.install(FOREIGN)
    assert (installed.metadata.name, installed.metadata.version) == ("foreign", "2.3")
    yield operators.worker("foreign", category="random")
    workers.remove("foreign")


def test_the_check_knows_its_level(foreign: Any) -> None:
    results = workers.check("foreign")
    assert all(result.passed for result in results), format_report(results)
    assert level(results) == "the plain protocol"


def sent(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return every message sent to the worker, which logs them."""
    logs = [log for arena in evaluation.arenas for log in arena.path.glob("operator-*.log")]
    lines = [line for log in logs for line in log.read_text().splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


def actions(evaluation: Evaluation, seed: int, episode: int) -> list[Any]:
    return list(evaluation.steps("foreign", seed, episode)["action"])


def test_it_plays_with_masks_and_the_same_seeds_give_the_same_episodes(
    foreign: Any, start_evaluation: Evaluate
) -> None:
    arguments = {"seeds": [1, 2], "episodes": 2, "max_steps": 30}
    first = start_evaluation(TAXI, {"foreign": foreign}, **arguments, parallel=1).wait(120)
    second = start_evaluation(TAXI, {"foreign": foreign}, **arguments, parallel=2).wait(120)
    table = first.results()
    assert list(table["status"]) == ["ok"] * 4
    assert table[["illegal", "late", "errors"]].to_numpy().sum() == 0
    pd.testing.assert_frame_equal(outcomes(second), outcomes(first))
    played = [actions(first, seed, episode) for seed in (1, 2) for episode in (0, 1)]
    assert played == [actions(second, seed, episode) for seed in (1, 2) for episode in (0, 1)]
    assert len({tuple(one) for one in played}) == 4  # each episode has its own seed
    assert all(len(set(one)) > 2 for one in played)

    heard = sent(first)
    assert {one["cmd"] for one in heard} == {"hello", "ping", "init_agent", "select_action", "stop"}
    introduced = next(one for one in heard if one["cmd"] == "init_agent")
    assert introduced["action_meanings"] == introduced["settings"]["action_meanings"]
    assert introduced["action_space"] == introduced["settings"]["action_space"]
    requests = [one for one in heard if one["cmd"] == "select_action"]
    assert len(requests) == table["length"].sum()
    assert set(requests[0]) == {"cmd", "player_id", "observation", "action_mask", "info"}
    legal = [action for action, allowed in enumerate(requests[0]["action_mask"]) if allowed]
    assert requests[0]["info"] == {"legal_moves": legal}


def test_it_plays_where_observations_are_arrays(
    foreign: Any, start_evaluation: Evaluate, start_comparison: Compare
) -> None:
    evaluation = start_evaluation("Pendulum-v1", {"foreign": foreign}, seeds=[3], max_steps=20).wait(120)
    assert list(evaluation.results()["status"]) == ["ok"]
    turns = start_evaluation(
        "connect_four_v3", {"foreign": {"player_0": foreign, "player_1": operators.random()}}, seeds=[3]
    ).wait(120)
    assert list(turns.results()["status"]) == ["ok"]
    comparison = start_comparison("Pendulum-v1", {"foreign": foreign}, seeds=[3], max_steps=20)
    comparison.play()
    comparison.wait(60)
    comparison.reset()
    comparison.play()
    comparison.wait(60)
    returns = set(comparison.results()["return"])
    assert returns == set(evaluation.results()["return"])
