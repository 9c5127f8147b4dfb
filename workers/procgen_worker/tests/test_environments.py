"""Procgen and Overcooked played for real: seeds in two processes, pictures, people's keys, states as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import check_comparison, check_seeds

import mosaic_lab as mosaic
from mosaic_lab.workers import WorkerEnvironment

pytestmark = pytest.mark.extended  # the environment is 0.5 GB


@pytest.mark.parametrize("env_id", ["procgen-coinrun-v0", "procgen-maze-v0", "overcooked/cramped_room"])
def test_the_same_seed_gives_the_same_episode(worker: WorkerEnvironment, env_id: str, tmp_path: Path) -> None:
    check_seeds(worker, env_id, tmp_path)


def test_a_person_plays_beside_a_random_operator(lab: mosaic.Lab) -> None:
    assert check_comparison(lab, "procgen-coinrun-v0", "ArrowRight") == "right"


def test_a_person_cooks_with_a_random_operator(lab: mosaic.Lab) -> None:
    assert check_comparison(lab, "overcooked/cramped_room", "w", seat="agent_1") == "north"


def test_two_cooks_share_a_kitchen(lane: ArenaLane) -> None:
    opened = lane.open("overcooked/cramped_room", needs=["description"])
    assert opened["paradigm"] == "parallel" and opened["teams"] == {"cooks": ["agent_0", "agent_1"]}
    assert opened["keys"]["agent_0"]["ArrowUp"] == opened["keys"]["agent_1"]["w"] == 0
    lane.play(1, 30)
    text = lane.described["agent_1"]["text"]
    assert "XXPXX" in text and "You are at column" in text and "agent_0 is at column" in text


def test_nothing_is_written_into_upstreams_package(worker: WorkerEnvironment, lane: ArenaLane) -> None:
    package = next(worker.root.glob("lib/python*/site-packages/overcooked_ai_py"))
    before = {path for path in package.rglob("*") if path.suffix != ".pyc"}
    lane.open("overcooked/forced_coordination")
    lane.play(1, 30)
    assert {path for path in package.rglob("*") if path.suffix != ".pyc"} == before
