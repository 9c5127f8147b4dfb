"""Team games in arenas: agents, teams, seeds, frames."""

from __future__ import annotations

from pathlib import Path

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import check_seeds
from support import wait_until

from mosaic_lab.workers import WorkerEnvironment

SOCCER = "MosaicMultiGrid-S-2v2-IndAgObs-v1"


def test_soccer(lane: ArenaLane) -> None:
    opened = lane.open(SOCCER, needs=["description"])
    assert opened["paradigm"] == "parallel"
    assert opened["teams"] == {"team_1": ["agent_0", "agent_1"], "team_2": ["agent_2", "agent_3"]}
    assert opened["action_meanings"]["agent_3"][:3] == ["noop", "left", "right"]
    assert opened["keys"]["agent_0"]["ArrowUp"] == 3 and opened["keys"]["agent_1"]["w"] == 3
    assert opened["spaces"]["agent_0"]["observation"]["spaces"]["image"]["shape"] == [3, 3, 3]
    first = lane.play(3, 20)
    assert len(first) == 21
    assert "'mission': 'maximize reward'" in first[1][0][0][1]
    # Their distance is mutual; only the directions in which they look may differ.
    one, other = (lane.described[f"agent_{n}"]["teammates"][f"agent_{1 - n}"] for n in (0, 1))
    assert {abs(one["ahead"]), abs(one["right"])} == {abs(other["ahead"]), abs(other["right"])}
    turned = ["ahead", "right", "back", "left"]
    assert (turned.index(one["facing"]) + turned.index(other["facing"])) % 4 == 0
    assert set(lane.described["agent_2"]["teammates"]) == {"agent_3"}
    assert lane.described["agent_0"]["scores"] == {"team_1": 0.0, "team_2": 0.0}
    assert lane.play(4, 20) != first
    reader = lane.watched()
    assert lane.play(3, 20) == first
    frame = wait_until(lambda: reader.watch(60) or reader.read())
    assert frame.channels == 3
    assert lane.do("closed", "close") == {"type": "closed"}


@pytest.mark.extended
def test_the_same_seed_gives_the_same_episode(worker: WorkerEnvironment, tmp_path: Path) -> None:
    check_seeds(worker, SOCCER, tmp_path, steps=50)


def test_near_misses_are_named(lane: ArenaLane) -> None:
    error = lane.open("MosaicMultiGrid-S-2v2-v1", "error")
    assert error["error_type"] == "ConfigError" and SOCCER in error["message"]
