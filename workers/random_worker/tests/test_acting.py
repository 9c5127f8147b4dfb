"""Random operators: uniform over the legal actions, and reproducible by seed."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from operators.conversation import Conversation

from mosaic_lab.workers import WorkerEnvironment

FIVE = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 5, "start": 0}
BOX = {"type": "Box", "shape": [2], "dtype": "float32", "low": [-1.0, 0.0], "high": 1.0}
PAIR = {"type": "MultiDiscrete", "shape": [2], "dtype": "int64", "nvec": [2, 3]}
BITS = {"type": "MultiBinary", "shape": [4], "n": 4}
HERE = Path(__file__).parent


def actions(talk: Conversation, count: int, **fields: Any) -> list[Any]:
    return [talk.act(**fields)["action"] for _ in range(count)]


def test_all_actions_are_equally_likely(talk: Conversation) -> None:
    talk.agent(FIVE, seed=1)
    counts = Counter(actions(talk, 2000))
    assert set(counts) == {0, 1, 2, 3, 4}
    assert all(300 < count < 500 for count in counts.values()), "expected: 400 ± 18 each"


def test_actions_begin_where_the_space_begins(talk: Conversation) -> None:
    talk.agent({**FIVE, "start": -2}, seed=1)
    assert set(actions(talk, 100)) == {-2, -1, 0, 1, 2}


def test_masked_actions_are_never_played(talk: Conversation) -> None:
    talk.agent(FIVE, seed=1)
    for mask in ([0, 1, 0, 1, 0], np.array([0, 1, 0, 1, 0], np.int8), np.array([False, True] * 2 + [False])):
        assert set(actions(talk, 100, action_mask=mask)) == {1, 3}


def test_legal_moves_count_where_there_is_no_mask(talk: Conversation) -> None:
    talk.agent({**FIVE, "start": 10}, seed=1)
    assert set(actions(talk, 100, info={"legal_moves": [11, 14]})) == {11, 14}
    assert set(actions(talk, 100, info={"legal_moves": [11]}, action_mask=[0, 0, 1, 0, 0])) == {12}
    assert len(set(actions(talk, 100, info={"legal_moves": ["e2e4"]}))) == 5, "e2e4 is not an action"
    talk.agent({"type": "Text", "max_length": 9, "characters": "abc"}, "writer", seed=1)
    written = actions(talk, 50, player_id="writer", info={"legal_moves": ["[1]", "[2]"]})
    assert set(written) == {"[1]", "[2]"}


def test_other_spaces(talk: Conversation) -> None:
    talk.agent(BOX, "box", seed=1)
    box = np.array(actions(talk, 200, player_id="box"))
    assert box.shape == (200, 2) and box.dtype == np.float32
    assert (box >= [-1, 0]).all() and (box <= 1).all() and np.ptp(box, axis=0).min() > 0.8
    talk.agent(PAIR, "pair", seed=1)
    assert {tuple(pair) for pair in actions(talk, 200, player_id="pair")} == {
        (a, b) for a in range(2) for b in range(3)
    }
    masked = actions(talk, 50, player_id="pair", action_mask=[[0, 1], np.array([1, 0, 1], np.int8)])
    assert {tuple(pair) for pair in masked} == {(1, 0), (1, 2)}
    talk.agent(BITS, "bits", seed=1)
    assert len({tuple(bits) for bits in actions(talk, 200, player_id="bits")}) == 16


def test_nested_spaces(talk: Conversation) -> None:
    talk.agent({"type": "Dict", "spaces": {"move": FIVE, "arms": {"type": "Tuple", "spaces": [BOX, FIVE]}}})
    mask = {"move": [0, 0, 1, 0, 0], "arms": [None, [0, 1, 0, 0, 0]]}
    action = talk.act(action_mask=mask)["action"]
    assert action["move"] == 2 and action["arms"][1] == 1 and action["arms"][0].shape == (2,)


def test_the_same_seed_gives_the_same_episode(talk: Conversation) -> None:
    def episode(seed: int) -> list[Any]:
        talk.ask("episode_begin", player_id="agent_0", seed=seed, episode_index=0)
        return actions(talk, 50)

    talk.agent(FIVE, seed=7)
    first = actions(talk, 50)
    one, two = episode(1), episode(2)
    assert len({tuple(first), tuple(one), tuple(two)}) == 3
    assert episode(1) == one
    talk.agent(FIVE, seed=7)
    assert actions(talk, 50) == first


def test_agents_of_one_process_do_not_disturb_each_other(talk: Conversation) -> None:
    talk.agent(FIVE, "alone", seed=3)
    alone = actions(talk, 50, player_id="alone")
    talk.agent(FIVE, "red", seed=3)
    talk.agent(FIVE, "blue", seed=4)
    both = [(talk.act(player_id="red")["action"], talk.act(player_id="blue")["action"]) for _ in range(50)]
    assert [red for red, _ in both] == alone


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        ({}, "needs the action space"),
        ({"action_space": {"type": "Graph"}}, "not {'type': 'Graph'}"),
        ({"action_space": {"type": "Discrete", "n": 0}}, "is not a valid space"),
    ],
    ids=["no space", "another kind", "no actions"],
)
def test_what_it_cannot_choose_from_is_refused(talk: Conversation, setup: dict[str, Any], said: str) -> None:
    answer = talk.ask("init_agent", player_id="agent_0", **setup)
    assert answer["error_type"] == "ConfigError" and not answer["retryable"] and said in answer["message"]


def test_gymnasiums_spaces_survive_their_description(worker: WorkerEnvironment) -> None:
    program = HERE / "peers" / "describe_and_make.py"
    done = subprocess.run([str(worker.python), str(program)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["13", "spaces"]
