"""gymnax and Craftax in arenas: seeds across processes, frames, human keys, states as text."""

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

pytestmark = pytest.mark.extended  # the worker's environment takes 0.9 GB; Craftax compiles for minutes

BREAKOUT, CLASSIC, CRAFTAX = "gymnax/Breakout-MinAtar", "Craftax-Classic-Symbolic-v1", "Craftax-Symbolic-v1"
PATIENT = {"step_timeout": 400.0}
KEYS = [
    ("gymnax/MountainCar-v0", "ArrowRight", "right", PATIENT),
    (BREAKOUT, "ArrowLeft", "left", PATIENT),
    (CLASSIC, " ", "do", PATIENT),
]
SEEDED = [env_id for env_id, *_ in KEYS]
TEXTS = [
    (BREAKOUT, "- your paddle: row 9, column"),
    (CLASSIC, "You have: health 9, food 9, drink 9, energy 9"),
]
REFUSED = [
    ("gymnax/MNISTBandit-bsuite", {}, "has no environment 'gymnax/MNISTBandit-bsuite'"),
    (BREAKOUT, {"max_steps": 5}, "did you mean 'max_steps_in_episode'"),
    (CLASSIC, {"max_timestep": 5}, "has no setting 'max_timestep': it has max_timesteps"),
]


def test_every_environment_of_gymnax_is_played_and_drawn(worker: WorkerEnvironment, tmp_path: Path) -> None:
    ids = [env_id for env_id in environment_ids(worker) if env_id.startswith("gymnax/")]
    assert len(ids) == 25
    for env_id in ids:
        with ArenaLane(worker.command(), tmp_path / env_id) as lane:
            lane.open(env_id)
            assert len(lane.play(1, 20)) > 1
            assert_drawn(lane.folder)


def test_craftax_is_played(lane: ArenaLane) -> None:
    opened = lane.open(CRAFTAX, needs=["description"])
    assert len(opened["keys"]["agent_0"]) == 47
    assert len(lane.play(1, 3)) == 4
    assert "Map:" in lane.described["agent_0"]["text"]


def test_parameters_are_settings(lane: ArenaLane) -> None:
    lane.open("gymnax/Pendulum-v1", max_steps_in_episode=5)
    assert len(lane.play(1, 20)) == 6
