"""Passive operators: a no-op where one exists, otherwise a constant action, and an explanation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operators.conversation import Conversation


def discrete(n: int, start: int = 0) -> dict[str, Any]:
    return {"type": "Discrete", "shape": [], "dtype": "int64", "n": n, "start": start}


def box(low: Any, high: Any, shape: list[int]) -> dict[str, Any]:
    return {"type": "Box", "shape": shape, "dtype": "float32", "low": low, "high": high}


def played(talk: Conversation, space: dict[str, Any], **settings: Any) -> tuple[Any, str]:
    """Return an operator's action and explanation; require the same action at every step."""
    talk.agent(space, settings=settings, seed=1)
    answers = [talk.act(observation=step) for step in range(3)]
    assert all(np.array_equal(answer["action"], answers[0]["action"]) for answer in answers)
    return answers[0]["action"], answers[0]["action_str"]


@pytest.mark.parametrize(
    ("meanings", "action", "said"),
    [
        (["NOOP", "FIRE", "RIGHT"], 0, "NOOP (index 0)"),
        (["left", "right", "no-op"], 2, "no-op (index 2)"),
        (["push left", "do nothing", "push right"], 1, "do nothing (index 1)"),
        (["move", "stay_put", "done"], 1, "stay_put (index 1)"),
        (["left", "right", "forward", "pickup", "drop", "toggle", "done"], 6, "done (index 6)"),
        (["pass", "shoot", "still"], 2, "still (index 2)"),
        (["pass the ball", "shoot", "passage"], 0, "no action is known to do nothing: plays 0"),
        (["waiter", "nonetheless", "go"], 0, "no action is known to do nothing: plays 0"),
    ],
)
def test_actions_by_what_they_are_called(
    talk: Conversation, meanings: list[str], action: int, said: str
) -> None:
    assert played(talk, discrete(len(meanings)), action_meanings=meanings) == (action, said)


@pytest.mark.parametrize(
    ("env_id", "count", "action", "said"),
    [
        ("LunarLander-v3", 4, 0, "engines off (index 0)"),
        ("MountainCar-v0", 3, 1, "no push (index 1)"),
        ("Acrobot-v1", 3, 1, "no torque (index 1)"),
        ("MiniGrid-Empty-8x8-v0", 7, 6, "done (index 6)"),
        ("mpe2/simple_spread_v3", 5, 0, "no action (index 0)"),
        ("Taxi-v4", 6, 0, "no action is known to do nothing: plays 0"),
        ("CartPole-v1", 2, 0, "no action is known to do nothing: plays 0"),
    ],
)
def test_actions_of_known_environments(
    talk: Conversation, env_id: str, count: int, action: int, said: str
) -> None:
    assert played(talk, discrete(count), env_id=env_id) == (action, said)


def test_actions_that_begin_elsewhere(talk: Conversation) -> None:
    assert played(talk, discrete(3, start=-1), action_meanings=["left", "stay", "right"])[0] == 0
    assert played(talk, discrete(3, start=5)) == (5, "no action is known to do nothing: plays 5")


def test_what_is_not_legal_is_not_played(talk: Conversation) -> None:
    talk.agent(discrete(3), settings={"action_meanings": ["left", "wait", "right"]})
    assert talk.act(action_mask=[1, 1, 1])["action"] == 1
    other = talk.act(action_mask=np.array([0, 0, 1], np.int8))
    assert (other["action"], other["action_str"]) == (2, "wait (index 1) is not legal: action 2")
    assert talk.act(info={"legal_moves": [2, 0]})["action"] == 2
    assert talk.act(info={"legal_moves": [0, 1]})["action"] == 1
    assert talk.act(info={"legal_moves": ["e2e4"]})["action"] == 1
    assert talk.act(action_mask=[0, 0, 0])["action"] == 1, "with no legal action, the usual one"


def test_a_box_keeps_still(talk: Conversation) -> None:
    action, said = played(talk, box(-2.0, 2.0, [3]))
    assert action.dtype == np.float32 and action.tolist() == [0, 0, 0] and said == "still (zero)"
    assert played(talk, box("-Infinity", "Infinity", [2, 1]))[0].tolist() == [[0], [0]]


def test_a_box_without_zero_comes_as_near_as_it_can(talk: Conversation) -> None:
    action, said = played(talk, box([-1.0, 0.5, -3.0], [1.0, "Infinity", -2.0], [3]))
    assert action.tolist() == [0.0, 0.5, -2.0]
    assert said == "still (as near to zero as the bounds allow)"


def test_other_spaces(talk: Conversation) -> None:
    pair = {"type": "MultiDiscrete", "shape": [2], "nvec": [2, 3], "start": [0, 1]}
    bits = {"type": "MultiBinary", "shape": [3], "n": 3}
    assert played(talk, pair)[0].tolist() == [0, 1]
    assert played(talk, bits)[0].tolist() == [0, 0, 0]
    nested = {"type": "Dict", "spaces": {"move": discrete(2), "rest": {"type": "Tuple", "spaces": [bits]}}}
    talk.agent(nested)
    action = talk.act()["action"]
    assert action["move"] == 0 and action["rest"][0].tolist() == [0, 0, 0]


def test_what_it_cannot_keep_still_in_is_refused(talk: Conversation) -> None:
    for setup, said in (
        ({}, "needs the action space"),
        ({"action_space": {"type": "Graph"}}, "type 'Graph'"),
    ):
        answer = talk.ask("init_agent", player_id="agent_0", **setup)
        assert answer["error_type"] == "ConfigError" and said in answer["message"]
