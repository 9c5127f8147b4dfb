"""PyBullet's robots, moved for real: seeds in two processes, pictures, people's keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import assert_drawn, check_comparison, check_seeds, environment_ids

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.workers import WorkerEnvironment

pytestmark = pytest.mark.extended  # the environment is 0.4 GB

WITH_KEYS = {"CartPoleBulletEnv-v1": ("ArrowRight", "push right"), "AntBulletEnv-v0": ("q", "1")}
SEEDED = [
    "AntBulletEnv-v0",
    "HumanoidFlagrunHarderBulletEnv-v0",
    "ReacherBulletEnv-v0",
    "CartPoleBulletEnv-v1",
]


@pytest.mark.parametrize("env_id", SEEDED)
def test_the_same_seed_gives_the_same_episode(worker: WorkerEnvironment, env_id: str, tmp_path: Path) -> None:
    check_seeds(worker, env_id, tmp_path)


@pytest.mark.parametrize("env_id", WITH_KEYS)
def test_a_person_plays_beside_a_random_operator(lab: mosaic.Lab, env_id: str) -> None:
    key, action = WITH_KEYS[env_id]
    assert action in check_comparison(lab, env_id, key)


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


def test_what_is_not_here_is_refused(lab: mosaic.Lab) -> None:
    lanes = {"random": mosaic.operators.random()}
    for env_id, settings, message in (
        ("KukaBulletEnv-v0", {}, "has no environment 'KukaBulletEnv-v0'"),
        ("MinitaurBulletEnv-v0", {"action_repeats": 2}, "did you mean 'action_repeat'"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            lab.compare(env=env_id, operators=lanes, seeds=[1], env_kwargs=settings)
