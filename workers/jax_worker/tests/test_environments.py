"""gymnax and Craftax, played for real: seeds in two processes, pictures, people's keys, states as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import assert_drawn, check_comparison, check_seeds, environment_ids

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.workers import WorkerEnvironment

pytestmark = pytest.mark.extended  # the environment is 0.9 GB, and Craftax compiles for minutes, once

BREAKOUT, CLASSIC, CRAFTAX = "gymnax/Breakout-MinAtar", "Craftax-Classic-Symbolic-v1", "Craftax-Symbolic-v1"
PATIENT = {"step_timeout": 400.0}
OF_EACH = {  # an environment, and a key with the name of its action
    "gymnax/MountainCar-v0": ("ArrowRight", "right"),
    BREAKOUT: ("ArrowLeft", "left"),
    CLASSIC: (" ", "do"),
}
TEXTS = {BREAKOUT: "- your paddle: row 9, column", CLASSIC: "You have: health 9, food 9, drink 9, energy 9"}


@pytest.mark.parametrize("env_id", OF_EACH)
def test_the_same_seed_gives_the_same_episode(worker: WorkerEnvironment, env_id: str, tmp_path: Path) -> None:
    check_seeds(worker, env_id, tmp_path)


@pytest.mark.parametrize("env_id", OF_EACH)
def test_a_person_plays_beside_a_random_operator(lab: mosaic.Lab, env_id: str) -> None:
    key, name = OF_EACH[env_id]
    assert check_comparison(lab, env_id, key, **PATIENT) == name


@pytest.mark.parametrize("env_id", TEXTS)
def test_a_state_reads_as_text(lane: ArenaLane, env_id: str) -> None:
    lane.open(env_id, needs=["description"])
    lane.play(1, 1)
    assert TEXTS[env_id] in lane.described["agent_0"]["text"]


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


def test_wrong_ids_and_settings_are_refused_with_the_right_ones(lab: mosaic.Lab) -> None:
    lanes = {"random": mosaic.operators.random()}
    for env_id, settings, message in (
        ("gymnax/MNISTBandit-bsuite", {}, "has no environment 'gymnax/MNISTBandit-bsuite'"),
        (BREAKOUT, {"max_steps": 5}, "did you mean 'max_steps_in_episode'"),
        (CLASSIC, {"max_timestep": 5}, "has no setting 'max_timestep': it has max_timesteps"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            lab.compare(env=env_id, operators=lanes, seeds=[1], env_kwargs=settings)
