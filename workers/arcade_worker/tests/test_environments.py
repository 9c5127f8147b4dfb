"""stable-retro and Griddly, played for real: seeds, pictures, people's keys, masks, texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import assert_drawn, check_comparison, check_seeds, environment_ids

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.workers import WorkerEnvironment

pytestmark = pytest.mark.extended  # the environment is 0.3 GB

AIRSTRIKER, SOKOBAN, ZELDA = "Airstriker-Genesis-v0", "GDY-Sokoban-v0", "GDY-Zelda-v0"
OF_EACH = {AIRSTRIKER: ("ArrowLeft", "1"), SOKOBAN: ("ArrowUp", "up"), ZELDA: (" ", "attack front")}
TEXTS = {AIRSTRIKER: "lives: 3", SOKOBAN: "wall, hole, nothing"}


@pytest.mark.parametrize("env_id", [AIRSTRIKER, ZELDA, "GDY-Spiders-v0"])
def test_the_same_seed_gives_the_same_episode(worker: WorkerEnvironment, env_id: str, tmp_path: Path) -> None:
    check_seeds(worker, env_id, tmp_path)


@pytest.mark.parametrize("env_id", OF_EACH)
def test_a_person_plays_beside_a_random_operator(lab: mosaic.Lab, env_id: str) -> None:
    key, name = OF_EACH[env_id]
    assert name in check_comparison(lab, env_id, key)


@pytest.mark.parametrize("env_id", TEXTS)
def test_a_state_reads_as_text(lane: ArenaLane, env_id: str) -> None:
    lane.open(env_id, needs=["description"])
    lane.play(1, 1)
    assert TEXTS[env_id] in lane.described["agent_0"]["text"]


def test_every_grid_is_played_with_legal_actions_and_drawn(worker: WorkerEnvironment, tmp_path: Path) -> None:
    ids = [env_id for env_id in environment_ids(worker) if env_id.startswith("GDY-")]
    assert len(ids) >= 20
    for env_id in ids:
        with ArenaLane(worker.command(), tmp_path / env_id) as lane:
            lane.open(env_id)
            played = lane.play(1, 20)
            assert played[1][0][0][2] != "None", "a mask of the legal actions comes along"
            assert_drawn(lane.folder)


def test_another_level_is_a_setting(lane: ArenaLane) -> None:
    assert lane.open(SOKOBAN, level=4)["spaces"]["agent_0"]["observation"]["shape"] != [4, 13, 9]


def test_wrong_ids_and_settings_are_refused_with_the_right_ones(lab: mosaic.Lab) -> None:
    lanes = {"random": mosaic.operators.random()}
    for env_id, settings, message in (
        ("GDY-Sokobann-v0", {}, SOKOBAN),
        ("SonicTheHedgehog-Genesis-v0", {}, "has no environment 'SonicTheHedgehog-Genesis-v0'"),
        (SOKOBAN, {"level": 99}, "has the levels 0 to"),
        (AIRSTRIKER, {"states": "Level1"}, "did you mean 'state'"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            lab.compare(env=env_id, operators=lanes, seeds=[1], env_kwargs=settings)
