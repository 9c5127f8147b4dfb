"""Agents who act at once, played for real: names, keys, descriptions, the same seed twice, pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import check_comparison, check_seeds
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.workers import WorkerEnvironment

pytestmark = pytest.mark.extended  # of the workers with environments only a few are built in every run

WAREHOUSE, FORAGING, PONG = "rware-tiny-2ag-v2", "Foraging-8x8-2p-3f-v3", "pong_v3"
ROBOTS, PADDLES = ["agent_0", "agent_1"], ["first_0", "second_0"]


def first_picture(lane: ArenaLane) -> Any:
    """The pixels of an opened environment's first frame."""
    lane.do("ready", "reset", seed=1, episode_index=0)
    reader = lane.watched()
    frame = wait_until(lambda: reader.watch(60) or reader.read())
    return numpy.frombuffer(frame.pixels, numpy.uint8).reshape(frame.shape)


ENVIRONMENTS = {  # id: (agents, team, names of actions, shape of a frame)
    WAREHOUSE: (ROBOTS, "robots", ("noop", "forward", "left", "right", "toggle load"), (343, 311, 3)),
    FORAGING: (ROBOTS, "foragers", ("none", "north", "south", "west", "east", "load"), (409, 409, 3)),
    PONG: (PADDLES, None, ("noop", "fire", "right", "left", "right fire", "left fire"), (210, 160, 3)),
}

KEYS = {WAREHOUSE: ("w", "forward"), FORAGING: ("w", "north"), PONG: ("d", "right")}  # of the second agent


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


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_seeds_hold_in_every_process(worker: WorkerEnvironment, tmp_path: Path, env_id: str) -> None:
    check_seeds(worker, env_id, tmp_path)


def test_what_sensors_show_is_described(lane: ArenaLane) -> None:
    lane.open(WAREHOUSE, needs=["description"])
    lane.play(1, 1)
    assert "and carry nothing" in lane.described["agent_1"]["text"]


def test_food_is_described(lane: ArenaLane) -> None:
    lane.open(FORAGING, needs=["description"])
    lane.play(1, 1)
    assert "food of level" in lane.described["agent_0"]["text"]
    assert "agent_1 of level" in lane.described["agent_0"]["text"]


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_a_person_plays_with_a_random_operator(lab: mosaic.Lab, env_id: str) -> None:
    key, action = KEYS[env_id]
    assert check_comparison(lab, env_id, key, seat=ENVIRONMENTS[env_id][0][1]) == action


@pytest.mark.parametrize("name", ["warlords_v3", "space_invaders_v2", "atari/video_checkers_v4"])
def test_games_of_atari(lane: ArenaLane, name: str) -> None:
    lane.open(name)
    assert len(lane.play(1, 20)) == 21


def test_wrong_ids_and_settings_are_refused_with_the_right_ones(lab: mosaic.Lab) -> None:
    lanes = {"random": operators.random()}
    for env_id, settings, message in (
        ("rware-tiny-2ag-v1", {}, "rware-tiny-2ag-v2"),
        ("atari/pong_v2", {}, "pong_v3"),
        (PONG, {"max_cycle": 3}, "did you mean 'max_cycles'"),
        (FORAGING, {"site": 3}, "did you mean 'sight'"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            lab.compare(env=env_id, operators=lanes, seeds=[1], env_kwargs=settings)
