"""stable-retro and Griddly in arenas: seeds, frames, human keys, action masks, states as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import assert_drawn, environment_ids
from shim_kit.family_tests import (  # noqa: F401
    pytest_generate_tests,
    test_a_person_plays_beside_a_random_operator,
    test_a_state_reads_as_text,
    test_the_same_seed_gives_the_same_episode,
    test_wrong_ids_and_settings_are_refused,
)

from mosaic_lab.workers import WorkerEnvironment

pytestmark = pytest.mark.extended  # the worker's environment takes 0.3 GB

AIRSTRIKER, SOKOBAN, ZELDA = "Airstriker-Genesis-v0", "GDY-Sokoban-v0", "GDY-Zelda-v0"
KEYS = [(AIRSTRIKER, "ArrowLeft", ".*1.*"), (SOKOBAN, "ArrowUp", ".*up.*"), (ZELDA, " ", ".*attack front.*")]
SEEDED = [AIRSTRIKER, ZELDA, "GDY-Spiders-v0"]
TEXTS = [(AIRSTRIKER, "lives: 3"), (SOKOBAN, "wall, hole, nothing")]
REFUSED = [
    ("GDY-Sokobann-v0", {}, SOKOBAN),
    ("SonicTheHedgehog-Genesis-v0", {}, "has no environment 'SonicTheHedgehog-Genesis-v0'"),
    (SOKOBAN, {"level": 99}, "has the levels 0 to"),
    (AIRSTRIKER, {"states": "Level1"}, "did you mean 'state'"),
]


def test_every_grid_is_played_with_legal_actions_and_drawn(worker: WorkerEnvironment, tmp_path: Path) -> None:
    ids = [env_id for env_id in environment_ids(worker) if env_id.startswith("GDY-")]
    assert len(ids) >= 20
    for env_id in ids:
        with ArenaLane(worker.command(), tmp_path / env_id) as lane:
            lane.open(env_id)
            played = lane.play(1, 20)
            assert played[1][0][0][2] != "None", "each step has a mask of the legal actions"
            assert_drawn(lane.folder)


def test_an_action_can_be_a_combination_of_buttons(lane: ArenaLane) -> None:
    opened = lane.open(AIRSTRIKER, discrete=True)
    assert opened["spaces"]["agent_0"]["action"]["type"] == "Discrete"
    assert {"nothing", "left", "b and right"} <= set(opened["action_meanings"]["agent_0"])


def test_another_level_is_a_setting(lane: ArenaLane) -> None:
    assert lane.open(SOKOBAN, level=4)["spaces"]["agent_0"]["observation"]["shape"] != [4, 13, 9]
