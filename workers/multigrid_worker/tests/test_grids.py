"""Grids of the package multigrid in arenas: seeds, human keys, views as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import environment_ids
from shim_kit.family_tests import (  # noqa: F401
    pytest_generate_tests,
    test_a_person_plays_beside_a_random_operator,
    test_the_same_seed_gives_the_same_episode,
)

from mosaic_lab.workers import WorkerEnvironment

DOORS, EMPTY = "MultiGrid-RedBlueDoors-6x6-v0", "MultiGrid-Empty-5x5-v0"
SEEDED = [pytest.param(DOORS, marks=pytest.mark.extended)]
KEYS = [
    pytest.param((EMPTY, "ArrowUp", "forward", {"env_kwargs": {"agents": 1}}), marks=pytest.mark.extended)
]


def test_an_agent_reads_what_it_sees(lane: ArenaLane) -> None:
    opened = lane.open(DOORS, needs=["description"])
    assert (opened["paradigm"], opened["agents"]) == ("parallel", ["agent_0", "agent_1"])
    assert opened["keys"]["agent_0"]["ArrowUp"] == opened["keys"]["agent_1"]["w"] == 2
    lane.play(1, 10)
    texts = [described["text"] for described in lane.described.values()]
    assert all(text.startswith("Mission: open the red door then the blue door.") for text in texts)
    assert any("door: " in text and "ahead" in text for text in texts)


@pytest.mark.extended
def test_every_grid_follows_its_seed(worker: WorkerEnvironment, tmp_path: Path) -> None:
    ids = [env_id for env_id in environment_ids(worker) if env_id.startswith("MultiGrid-")]
    assert len(ids) == 13
    for env_id in ids:
        played = []
        for process in range(2):
            with ArenaLane(worker.command(), tmp_path / env_id / str(process)) as lane:
                lane.open(env_id, agents=3)
                played.append(lane.play(4, 200))
        assert played[0] == played[1], env_id
