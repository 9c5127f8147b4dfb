"""Environments of every kind in arenas: reproducible episodes, frames, action names and keys."""

from __future__ import annotations

import os
import random
import subprocess

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import assert_served_alike
from support import wait_until

from mosaic_lab.workers import WorkerEnvironment

ENVIRONMENTS = {  # id: (paradigm, agents, shape of a frame)
    "CartPole-v1": ("single_agent", 1, (400, 600, 3)),
    "Pendulum-v1": ("single_agent", 1, (500, 500, 3)),
    "LunarLander-v3": ("single_agent", 1, (400, 600, 3)),
    "FrozenLake-v1": ("single_agent", 1, (256, 256, 3)),
    "Taxi-v4": ("single_agent", 1, None),
    "ALE/Breakout-v5": ("single_agent", 1, (210, 160, 3)),
    "MiniGrid-Empty-8x8-v0": ("single_agent", 1, (256, 256, 3)),
    "connect_four_v3": ("aec", 2, None),
    "classic/tictactoe_v3": ("aec", 2, None),
    "leduc_holdem_v4": ("aec", 2, None),
    "simple_spread_v3": ("parallel", 3, (700, 700, 3)),
    "mpe/simple_tag_v3": ("parallel", 4, (700, 700, 3)),
    "butterfly/cooperative_pong_v6": ("parallel", 2, (280, 480, 3)),
    "knights_archers_zombies_v11": ("parallel", 4, (720, 1280, 3)),
    "sisl/multiwalker_v9": ("parallel", 3, None),
    "pursuit_v5": ("parallel", 8, None),
}


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_an_environment(lane: ArenaLane, env_id: str) -> None:
    paradigm, agents, shape = ENVIRONMENTS[env_id]
    opened = lane.open(env_id)
    assert (opened["paradigm"], len(opened["agents"])) == (paradigm, agents)
    assert opened["renders"], opened["render_reason"]
    first = lane.play(3, 12)
    assert len(first) > 2 and all(fault is None for step in first[1:] for _, _, fault in step[1])
    assert lane.play(4, 12) != first
    reader = lane.watched()
    watched = lane.play(3, 12)
    assert watched == first, "watching changes nothing"
    frame = wait_until(lambda: reader.watch(60) or reader.read())
    assert shape in (None, frame.shape)
    assert lane.do("closed", "close") == {"type": "closed"}


@pytest.mark.parametrize(
    ("env_id", "steps"),
    [
        ("BipedalWalker-v3", 60),
        ("knights_archers_zombies_v11", 200),
        ("hanabi_v5", 30),
        ("multiwalker_v9", 200),
        ("pursuit_v5", 60),
    ],
)
def test_episodes_do_not_affect_each_other(lane: ArenaLane, env_id: str, steps: int) -> None:
    lane.open(env_id)
    first = lane.play(7, steps)
    lane.play(8, steps)
    assert lane.play(7, steps) == first


@pytest.mark.parametrize(
    "env_id",
    [
        *("LunarLander-v3", "Pendulum-v1", "MiniGrid-Fetch-8x8-N3-v0", "Taxi-v4", "ALE/Pong-v5"),
        *("simple_spread_v3", "tictactoe_v3", "cooperative_pong_v6"),
        *(pytest.param(env_id, marks=pytest.mark.extended) for env_id in ("pistonball_v6", "pursuit_v5")),
    ],
)
def test_a_served_environment_plays_the_same_episode(
    worker: WorkerEnvironment, lane: ArenaLane, env_id: str
) -> None:
    lane.open(env_id)
    lane.play(3, 15)
    assert_served_alike(worker, lane, seed=3)


CAR_RACING = """
import gymnasium, numpy
from gymnasium_worker.environments import make
both = make("CarRacing-v3", {}, "rgb_array"), gymnasium.make("CarRacing-v3", render_mode="rgb_array")
for seed in range(2):
    seen = [(env.reset(seed=seed)[0], env.render()) for env in both]
    for _ in range(10):
        for ours, theirs in zip(*seen):
            assert numpy.array_equal(ours, theirs)
        seen = [(env.step(numpy.float32([0.5, 1, 0]))[0], env.render()) for env in both]
"""


def test_the_road_of_car_racing_is_drawn_once_for_the_same_pictures(worker: WorkerEnvironment) -> None:
    subprocess.run(
        [worker.python, "-c", CAR_RACING], check=True, env=os.environ | {"SDL_VIDEODRIVER": "dummy"}
    )


def test_actions_have_names_and_keys(lane: ArenaLane) -> None:
    opened = lane.open("LunarLander-v3")
    assert opened["action_meanings"]["agent_0"] == [
        *("do nothing", "left engine", "main engine", "right engine")
    ]
    assert opened["keys"]["agent_0"]["ArrowUp"] == 2


def test_two_people_can_share_a_keyboard(lane: ArenaLane) -> None:
    keys = lane.open("cooperative_pong_v6")["keys"]
    assert {"ArrowUp": 1, "ArrowDown": 2}.items() <= keys["paddle_0"].items()
    assert {"w": 1, "s": 2}.items() <= keys["paddle_1"].items()


def test_atari_is_named_by_the_game(lane: ArenaLane) -> None:
    opened = lane.open("ALE/Breakout-v5")
    assert opened["action_meanings"]["agent_0"] == ["NOOP", "FIRE", "RIGHT", "LEFT"]
    assert opened["keys"]["agent_0"] == {"0": 0, " ": 1, "ArrowRight": 2, "ArrowLeft": 3}


def test_the_map_of_a_numbered_observation_is_described(lane: ArenaLane) -> None:
    lane.open("FrozenLake-v1", needs=["description"])
    lane.play(1, 1)
    assert lane.described["agent_0"] == {"map": ["SFFF", "FHFH", "FFFH", "HFFG"]}


def test_agents_of_one_kind_are_a_team(lane: ArenaLane) -> None:
    teams = lane.open("simple_tag_v3")["teams"]
    assert teams == {"adversary": ["adversary_0", "adversary_1", "adversary_2"], "agent": ["agent_0"]}


def test_settings_reach_the_environment(lane: ArenaLane) -> None:
    assert len(lane.open("simple_spread_v3", N=2)["agents"]) == 2


def test_an_interface_can_be_chosen(lane: ArenaLane) -> None:
    assert lane.open("simple_spread_v3", paradigm="aec")["paradigm"] == "aec"
    assert lane.play(1, 6) == lane.play(1, 6)


def test_masks_of_pettingzoo_bind_and_those_of_gymnasium_advise(lane: ArenaLane) -> None:
    opened = lane.open("Taxi-v4")
    lane.do("ready", "reset", seed=1, episode_index=0)
    lane.send("step")
    ask = lane.next()
    excluded = list(ask["action_mask"]).index(0)
    lane.send("answer", id=ask["id"], action=excluded)
    move = lane.next()["moves"][0]
    assert (move["action"], move["fault"]) == (excluded, None)
    assert opened["spaces"]["agent_0"]["action"]["n"] == 6


def test_a_full_column_is_refused(lane: ArenaLane) -> None:
    assert lane.open("connect_four_v3")["teams"] == {}  # agents that all compete form no team
    lane.do("ready", "reset", seed=1, episode_index=0)
    for column in (3, 3, 3, 3, 3, 3):
        lane.send("step")
        lane.send("answer", id=lane.next()["id"], action=column)
        assert lane.next()["type"] == "stepped"
    lane.send("step")
    lane.send("answer", id=lane.next()["id"], action=3)
    error = lane.next()
    assert error["type"] == "error" and "column 4" in error["message"]


def test_a_frame_comes_while_an_operator_decides(lane: ArenaLane) -> None:
    lane.open("CartPole-v1")
    lane.do("ready", "reset", seed=1, episode_index=0)
    for _ in range(3):
        lane.step(random.Random(1))
    lane.send("step")
    assert lane.next()["type"] == "ask"
    reader = lane.watched()
    frame = wait_until(lambda: reader.watch(60) or reader.read())
    assert (frame.hud.step, frame.hud.episode_return) == (3, 3.0)
    assert frame.hud.text in ("0 (push left)", "1 (push right)")


def test_a_viewer_that_looked_away_gets_the_last_frame_of_the_episode(lane: ArenaLane) -> None:
    lane.open("CartPole-v1")
    lane.do("ready", "reset", seed=1, episode_index=0)
    reader = lane.watched()
    wait_until(lambda: reader.watch(60) or reader.read())
    reader.unwatch()
    steps, generator = 1, random.Random(1)
    while not lane.step(generator)[0]["done"]:
        steps += 1
    lane.do("closed", "close")
    frame = reader.read()
    assert frame is not None and frame.hud.step == steps


def test_what_cannot_be_made_is_refused_with_what_can(lane: ArenaLane) -> None:
    for env_id, settings, said in (
        ("CartPol-v1", {}, "CartPole-v1"),
        ("connect_four_v2", {}, "classic/connect_four_v3"),
        ("ALE/Breakou-v5", {}, "ALE/Breakout-v5"),
        ("Ant-v5", {}, "mujoco"),
        ("HalfCheetah-v3", {}, "did you mean 'HalfCheetah-v5'?"),
        ("chess_v6", {"paradigm": "parallel"}, "no parallel interface"),
    ):
        error = lane.open(env_id, "error", **settings)
        assert error["error_type"] == "ConfigError" and said in error["message"]
