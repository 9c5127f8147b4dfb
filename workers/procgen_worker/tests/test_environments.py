"""Procgen and Overcooked in arenas: seeds across processes, frames, human keys, states as text."""

from __future__ import annotations

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.family_tests import (  # noqa: F401
    pytest_generate_tests,
    test_a_person_plays_beside_a_random_operator,
    test_the_same_seed_gives_the_same_episode,
)

from mosaic_lab.workers import WorkerEnvironment

pytestmark = pytest.mark.extended  # the worker's environment takes 0.5 GB

KITCHEN = "overcooked/cramped_room"
SEEDED = ["procgen-coinrun-v0", "procgen-maze-v0", KITCHEN]
KEYS = [("procgen-coinrun-v0", "ArrowRight", "right"), (KITCHEN, "w", "north", {"seat": "agent_1"})]


def test_two_cooks_share_a_kitchen(lane: ArenaLane) -> None:
    opened = lane.open(KITCHEN, needs=["description"])
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
