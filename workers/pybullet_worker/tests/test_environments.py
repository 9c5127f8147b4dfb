"""PyBullet's robots in arenas: seeds across processes, frames, human keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import assert_drawn, environment_ids
from shim_kit.family_tests import (  # noqa: F401
    pytest_generate_tests,
    test_a_person_plays_beside_a_random_operator,
    test_the_same_seed_gives_the_same_episode,
    test_wrong_ids_and_settings_are_refused,
)

from mosaic_lab.workers import WorkerEnvironment

pytestmark = pytest.mark.extended  # the worker's environment takes 0.4 GB

KEYS = [("CartPoleBulletEnv-v1", "ArrowRight", ".*push right.*"), ("AntBulletEnv-v0", "q", ".*1.*")]
SEEDED = [
    *("AntBulletEnv-v0", "HumanoidFlagrunHarderBulletEnv-v0"),
    *("ReacherBulletEnv-v0", "CartPoleBulletEnv-v1"),
]
REFUSED = [
    ("KukaBulletEnv-v0", {}, "has no environment 'KukaBulletEnv-v0'"),
    ("MinitaurBulletEnv-v0", {"action_repeats": 2}, "did you mean 'action_repeat'"),
]


def test_every_robot_moves_and_is_drawn(worker: WorkerEnvironment, tmp_path: Path) -> None:
    ids = environment_ids(worker)
    assert len(ids) == 17
    for env_id in ids:
        with ArenaLane(worker.command(), tmp_path / env_id) as lane:
            opened = lane.open(env_id)
            space = opened["spaces"]["agent_0"]["action"]
            count = space["n"] if space["type"] == "Discrete" else space["shape"][0]
            assert len(opened["action_meanings"]["agent_0"]) == count
            assert len(lane.play(1, 20)) > 2
            assert_drawn(lane.folder)


def test_joints_have_upstreams_names(lane: ArenaLane) -> None:
    assert lane.open("HopperBulletEnv-v0")["action_meanings"]["agent_0"] == [
        "thigh joint",
        "leg joint",
        "foot joint",
    ]
