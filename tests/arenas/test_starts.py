"""Starts: episodes that begin after actions already played, or at a given position."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arenas.arena_lane import ArenaLane

from mosaic_lab import operators, workers
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.sharing.bundle import open_bundle

CART = [1, 0, 1, 1]
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
LAYOUT = """
    WGWGWGWGWG
    WG>>..GGWG
    WGKYLBVRWG
    WGWGWGWGWG
"""


@pytest.fixture
def lane(tmp_path: Path) -> Callable[..., Any]:
    """Open an arena of the worker "gymnasium" at the given start; return it with the initial state."""

    @contextmanager
    def begun(env_id: str, start: Any, **keywords: Any) -> Iterator[tuple[ArenaLane, dict[str, Any]]]:
        with ArenaLane(workers.ensure("gymnasium").command(), tmp_path / env_id) as arena:
            about = {"folder": str(arena.folder), "max_steps": None, "settings": {}}
            arena.do("opened", "open", env_id=env_id, start=start, **about)
            yield arena, arena.do("replayed", "replay", seed=1, observations=True, **keywords)

    return begun


def refusal(start_comparison: Callable[..., Any], env: str, start: Any) -> str:
    with pytest.raises(ConfigurationError) as refused:
        start_comparison(env, {"dice": operators.random()}, [1, 2], start=start)
    return str(refused.value)


def test_chess_begins_at_a_fen(lane: Callable[..., Any]) -> None:
    """Also with Black to move, after actions played from the FEN, and again after a reset."""
    with lane("chess_v6", MATE_IN_ONE) as (arena, state):
        assert state["turn"] == ["player_0"]
        mask = state["observations"]["player_0"]["action_mask"]
        assert mask.sum() == 7 + 5 + 5, "rook along the file, rook along the rank, king"
        rook = int(np.flatnonzero(mask)[0])
        after = arena.do("replayed", "replay", actions={"player_0": rook}, observations=True)
        assert after["turn"] == ["player_1"]
        again = arena.do("replayed", "replay", seed=1)
        assert (again["hashes"], again["step_index"]) == (state["hashes"], 0)
    with lane("chess_v6", {"position": MATE_IN_ONE, "actions": ["a1a2", "Kh8"]}) as (arena, state):
        assert state["turn"] == ["player_0"]
        rook = int(np.flatnonzero(state["observations"]["player_0"]["action_mask"])[0])
        name = arena.do("replayed", "replay", actions={"player_0": rook})["names"]["player_0"]
        assert name.startswith(("a2", "g1"))
    black = MATE_IN_ONE.replace(" w ", " b ")
    with lane("chess_v6", {"position": black, "actions": []}) as (_, state):
        assert state["turn"] == ["player_1"]


def test_board_games_begin_at_a_drawn_board(lane: Callable[..., Any]) -> None:
    board = "\n".join([*["......."] * 4, ".O.....", ".XX...."])
    with lane("connect_four_v3", board) as (_, state):
        assert state["turn"] == ["player_1"]
        seen = state["observations"]["player_1"]["observation"]
        assert seen[:, :, 0].sum() == 1 and seen[4, 1, 0] == 1, "the agent's own piece"
        assert seen[5, 1:3, 1].tolist() == [1, 1]
    with lane("tictactoe_v3", "XO.\n.X.\nO..") as (arena, state):
        assert state["turn"] == ["player_1"]
        won = arena.do("replayed", "replay", actions={"player_1": 8})
        assert (won["done"], won["rewards"]["player_1"]) == (True, 1), "player_1 completes the diagonal"


def test_minigrid_begins_in_a_drawn_layout(lane: Callable[..., Any]) -> None:
    forward, right = 2, 1
    with lane("MiniGrid-Empty-5x5-v0", LAYOUT) as (arena, state):
        image = state["observations"]["agent_0"]["image"]
        assert image[3, 6].tolist() == [1, 0, 0], "the agent's own cell is empty"
        assert image[3, 4, 0] == 8, "the goal is two cells ahead"
        assert image[4, 6].tolist() == [5, 4, 0], "a yellow key is on its right"
        assert image[4, 5].tolist() == [4, 2, 2], "beside the key, a locked blue door"
        ended = [arena.do("replayed", "replay", actions={"agent_0": forward}) for _ in range(2)]
        assert [one["done"] for one in ended] == [False, True] and ended[1]["rewards"]["agent_0"] > 0.9
    with lane("MiniGrid-Empty-5x5-v0", {"position": LAYOUT, "actions": [right, 3]}) as (_, state):
        image = state["observations"]["agent_0"]["image"]
        assert image[3, 6].tolist() == [5, 4, 0], "the agent carries the key"


def test_a_position_that_an_environment_cannot_have_is_refused(tmp_path: Path) -> None:
    with ArenaLane(workers.ensure("gymnasium").command(), tmp_path / "lane") as arena:

        def said(env_id: str, start: str) -> str:
            about = {"folder": str(arena.folder), "max_steps": None, "settings": {}}
            error = arena.do("error", "open", env_id=env_id, start=start, **about)
            assert error["error_type"] == "ConfigError"
            return str(error["message"])

        assert said("CartPole-v1", "rnbq") == (
            "CartPole-v1 cannot begin at a position given as text. It can begin after actions already "
            "played, start=[…]. Positions can be given in chess_v6 (a FEN); connect_four_v3 (6 lines of X, O "
            "and .); tictactoe_v3 (3 lines); MiniGrid and BabyAI (a layout)"
        )
        assert "start of chess_v6: 'rnbq' is not a FEN: " in said("chess_v6", "rnbq")
        assert "is not a legal position: no black king" in said("chess_v6", MATE_IN_ONE.replace("6k1", "8"))
        assert "the game is over in" in said("chess_v6", "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1")
        assert "one more, not 2 and 0" in said("tictactoe_v3", "XX.\n...\n...")
        assert "the game is over" in said("tictactoe_v3", "XXX\nOO.\n...")
        floating = "\n".join(["X......", *["......."] * 5])
        assert "a piece of the board has an empty cell below it" in said("connect_four_v3", floating)
        grid = "MiniGrid-Empty-5x5-v0"
        assert "with 0. Each cell has two characters" in said(grid, LAYOUT.replace(">>", ".."))
        assert "the cell 'KQ' in column 1, row 2 is unknown" in said(grid, LAYOUT.replace("KY", "KQ"))


def test_actions_that_cannot_be_played_are_refused_before_anything_starts(
    start_comparison: Callable[..., Any], start_evaluation: Callable[..., Evaluation]
) -> None:
    def said(start: Any) -> str:
        return refusal(start_comparison, "CartPole-v1", start)

    assert "start=7: must be a position as text, a list of the actions" in said(7)
    assert "action 2 of start, 5: " in said([1, 5]) and "can be made here" not in said([1, 5])
    assert "the episode ends after 9 of the 30 actions of start" in said([1] * 30)
    unknown = "action 1 of start, 'right': is not an action now; there are push right"
    assert unknown in said(["right"])
    with pytest.raises(ConfigurationError, match=r"the episode ends after \d+ of the 30 actions of start"):
        start_evaluation("CartPole-v1", {"dice": operators.random()}, seeds=[1], start=[1] * 30)


def test_a_comparison_begins_after_actions_and_counts_from_there(
    start_comparison: Callable[..., Any],
) -> None:
    """A lane that starts after two passive actions ends two steps earlier than one from the reset."""
    players = {"still": operators.passive()}
    whole = start_comparison("CartPole-v1", players, [3], start=None)
    later = start_comparison("CartPole-v1", players, [3], start=[0, 0])
    assert later.lanes[0].step == 0
    for comparison in (whole, later):
        comparison.play()
        comparison.wait(60)
    steps = [comparison.results()["length"].iloc[0] for comparison in (whole, later)]
    assert steps[1] == steps[0] - 2, "the passive action is 0"


def test_an_evaluation_records_its_start_and_its_replay_begins_there(
    start_evaluation: Callable[..., Evaluation], tmp_path: Path
) -> None:
    """Its bundle and the bundle's replay begin there too; another evaluation begins within the replay."""
    players = {"dice": operators.random()}
    played = start_evaluation("CartPole-v1", players, seeds=[5, 6], start=CART).wait(120)
    bundle = open_bundle(played.bundle(tmp_path / "share.zip"), tmp_path / "opened")
    assert bundle.plan.request.start == played.config["start"] == CART
    replay = bundle.replay("dice", seed=5)
    assert replay.difference is None and replay.verified and len(replay) == len(played.steps("dice", 5))
    start = replay.start_at(3)
    assert start["seeds"] == [5] and len(start["start"]) == len(CART) + 3
    with pytest.raises(ConfigurationError, match=r"step=10000: must be an integer from 0 to \d+"):
        replay.start_at(10_000)
    copy = Evaluation(shutil.copytree(played.path, tmp_path / "copy"))
    (copy.path / "config.json").write_text(json.dumps({**played.config, "start": [5]}))
    with pytest.raises(ConfigurationError, match="the replay of dice failed at step 0: action 1 of start, 5"):
        copy.replay("dice", seed=5)
    on = start_evaluation("CartPole-v1", {"dice": operators.passive()}, **start).wait(120)
    began = on.replay("dice", seed=5)[0].observations["agent_0"]
    np.testing.assert_array_equal(began, replay[3].observations["agent_0"])
