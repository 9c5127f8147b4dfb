"""MuJoCo's families in arenas: seeds across processes, frames without a display, human keys."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from arenas.arena_lane import ArenaLane
from mosaic_contract.fastlane import FrameReader
from shim_kit.environment_checks import check_seeds
from shim_kit.family_tests import (  # noqa: F401
    pytest_generate_tests,
    test_a_person_plays_beside_a_random_operator,
    test_the_same_seed_gives_the_same_episode,
)
from support import wait_until

from mosaic_lab.workers import WorkerEnvironment

pytestmark = pytest.mark.extended  # the worker's environment takes 0.5 GB

KEYS = [
    ("HalfCheetah-v5", "q", "bthigh 1"),
    ("FetchReach-v4", "d", "gripper up -1"),
    ("dm_control/cheetah-run-v0", "q", "bthigh 1"),
]
SEEDED = [
    *(env_id for env_id, *_ in KEYS),
    *("Ant-v5", "Humanoid-v4", "InvertedPendulum-v5", "HandManipulateBlock-v1", "AdroitHandPen-v1"),
    *("FrankaKitchen-v1", "PointMaze_UMaze-v3", "AntMaze_UMaze-v5"),
    *("dm_control/humanoid-walk-v0", "dm_control/lift_brick_features-v0"),
]


def test_a_maze_is_that_of_the_seed(worker: WorkerEnvironment, tmp_path: Path) -> None:
    check_seeds(worker, "dm_control/RodentMazeForage-v0", tmp_path, steps=10)  # its rendering is slow


def test_no_file_of_a_maze_is_left(lane: ArenaLane) -> None:
    before = set(Path(tempfile.gettempdir()).glob("ant_maze*"))
    lane.open("PointMaze_UMaze-v3")
    assert set(Path(tempfile.gettempdir()).glob("ant_maze*")) <= before


def test_without_a_library_that_draws_its_packages_are_named(
    worker: WorkerEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {**os.environ, "MUJOCO_GL": "disable"}
    monkeypatch.setattr("arenas.arena_lane.compose_variables", lambda *_, **__: variables)
    with ArenaLane(worker.command(), tmp_path / "lane") as lane:
        opened = lane.open("Reacher-v5")
        assert not opened["renders"] and "libegl1" in opened["render_reason"]
        assert opened["versions"]["mujoco"]
        assert len(lane.play(1, 5)) == 6
        reader = FrameReader(lane.folder)
        assert "libosmesa6" in wait_until(lambda: reader.watch(60) or reader.notice)


def test_other_versions_of_an_id_are_named(lane: ArenaLane) -> None:
    error = lane.open("HalfCheetah-v3", "error")
    assert error["error_type"] == "ConfigError" and "HalfCheetah-v5" in error["message"]
