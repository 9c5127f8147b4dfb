"""Comparisons in PettingZoo's Multiwalker: each walker may have an operator of any kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import marked_processes, wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators

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
