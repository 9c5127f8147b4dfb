"""Policies that are trained on PettingZoo's environments play there: an operator of any kind for each
walker."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import marked_processes, wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.runs import Run

ENV = "sisl/multiwalker_v9"
WALKERS = ["walker_0", "walker_1", "walker_2"]


@pytest.fixture
def lab(tmp_path: Path) -> mosaic.Lab:
    return mosaic.Lab(tmp_path)


def test_each_walker_has_an_operator_of_its_own(lab: mosaic.Lab, tmp_path: Path) -> None:
    policies = {
        "walker_0": operators.random(),
        "walker_1": operators.passive(),
        "walker_2": lambda seen: [1.0] * 4,
    }
    comparison = lab.compare(env=ENV, policies=policies, seeds=[3])
    try:
        comparison.step(20)
        steps = comparison.steps(0)
    finally:
        comparison.close()
    assert {agent: len(rows) for agent, rows in steps.groupby("agent_id")} == dict.fromkeys(WALKERS, 20)
    assert steps[steps["agent_id"] == "walker_2"]["action"].tolist() == [[1.0] * 4] * 20
    wait_until(lambda: not marked_processes(tmp_path))


@pytest.mark.extended
def test_a_team_that_xuance_has_trained_walks(lab: mosaic.Lab) -> None:
    run = lab.train(
        "xuance",
        algorithm="mappo",
        env=ENV,
        total_timesteps=200,
        parallels=2,
        buffer_size=100,
        activation_action="tanh",
        frames=False,
    )
    assert isinstance(run, Run)
    team = operators.rl(run.wait(300))
    lanes = {"team": team, "mixed": {"walker_0": operators.random(), "*": team}}
    comparison = lab.compare(env=ENV, operators=lanes, seeds=[7])
    try:
        comparison.play()
        comparison.wait(120)
        shown = [lane["operators"] for lane in comparison.view()["lanes"]]
        results = comparison.results().set_index("lane")
    finally:
        comparison.close()
    assert [one["agents"] for one in shown[0]] == [WALKERS]
    assert sorted(one["agents"] for one in shown[1]) == [WALKERS[:1], WALKERS[1:]]
    assert results.loc["team", "return"] != pytest.approx(results.loc["mixed", "return"])
