"""Environments whose agents act at once: action names, keys, descriptions, seeds, frames."""

from __future__ import annotations

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import first_picture
from shim_kit.family_tests import (  # noqa: F401
    pytest_generate_tests,
    test_a_person_plays_beside_a_random_operator,
    test_a_state_reads_as_text,
    test_the_same_seed_gives_the_same_episode,
    test_wrong_ids_and_settings_are_refused,
)

pytestmark = pytest.mark.extended  # only some environment workers are built in every test run

WAREHOUSE, FORAGING, PONG = "rware-tiny-2ag-v2", "Foraging-8x8-2p-3f-v3", "pong_v3"
ROBOTS, PADDLES = ["agent_0", "agent_1"], ["first_0", "second_0"]
SEEDED = [WAREHOUSE, FORAGING, PONG]
KEYS = [  # keys of the second agent
    (WAREHOUSE, "w", "forward", {"seat": "agent_1"}),
    (FORAGING, "w", "north", {"seat": "agent_1"}),
    (PONG, "d", "right", {"seat": "second_0"}),
]
TEXTS = [(WAREHOUSE, "and carry nothing"), (FORAGING, "food of level"), (FORAGING, "agent_1 of level")]
REFUSED = [
    ("rware-tiny-2ag-v1", {}, "rware-tiny-2ag-v2"),
    ("atari/pong_v2", {}, "pong_v3"),
    (PONG, {"max_cycle": 3}, "did you mean 'max_cycles'"),
    (FORAGING, {"site": 3}, "did you mean 'sight'"),
]
ENVIRONMENTS = {  # id: (agents, team, names of actions, shape of a frame)
    WAREHOUSE: (ROBOTS, "robots", ("noop", "forward", "left", "right", "toggle load"), (343, 311, 3)),
    FORAGING: (ROBOTS, "foragers", ("none", "north", "south", "west", "east", "load"), (409, 409, 3)),
    PONG: (PADDLES, None, ("noop", "fire", "right", "left", "right fire", "left fire"), (210, 160, 3)),
}


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_an_environment(lane: ArenaLane, env_id: str) -> None:
    agents, team, names, shape = ENVIRONMENTS[env_id]
    opened = lane.open(env_id)
    assert (opened["paradigm"], opened["agents"]) == ("parallel", agents)
    assert opened["teams"] == ({team: agents} if team else {})
    assert all(opened["action_meanings"][agent] == list(names) for agent in agents)
    one, other = (set(opened["keys"][agent]) for agent in agents)
    assert one and other and not one & other, "two people can share a keyboard"
    pixels = first_picture(lane)
    assert pixels.shape == shape and pixels.max() > 100


@pytest.mark.parametrize("name", ["warlords_v3", "space_invaders_v2", "atari/video_checkers_v4"])
def test_games_of_atari(lane: ArenaLane, name: str) -> None:
    lane.open(name)
    assert len(lane.play(1, 20)) == 21
