"""OpenSpiel's games in arenas: turns, action names, hidden cards, seeds, frames."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy
import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import first_picture
from shim_kit.family_tests import (  # noqa: F401
    pytest_generate_tests,
    test_a_person_plays_beside_a_random_operator,
    test_the_same_seed_gives_the_same_episode,
    test_wrong_ids_and_settings_are_refused,
)
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.workers import WorkerEnvironment

KUHN, TIC_TAC_TOE = "OpenSpiel/kuhn_poker", "OpenSpiel/tic_tac_toe"
SEEDED = ["OpenSpiel/backgammon"]
KEYS = [pytest.param(("OpenSpiel/connect_four", "3", "x3", {"seat": "player_0"}), marks=pytest.mark.extended)]
REFUSED = [
    ("open_spiel/kuhn_poker", {}, "Did you mean OpenSpiel/kuhn_poker"),
    ("OpenSpiel/tictactoe", {}, "OpenSpiel/tic_tac_toe"),
    (KUHN, {"player": 3}, "did you mean 'players'"),
    (KUHN, {"players": 99}, "cannot be made with env_kwargs={'players': 99}"),
]
BOARDS = ("connect_four", "othello", "go", "hex", "havannah", "breakthrough", "checkers", "chess")
OTHERS = ("goofspiel", "backgammon", "leduc_poker", "hanabi", "blackjack", "liars_dice", "matrix_pd")


def test_two_people_know_only_their_own_cards(lane: ArenaLane) -> None:
    opened = lane.open(KUHN, needs=["description"])
    assert (opened["paradigm"], opened["agents"], opened["teams"]) == ("aec", ["player_0", "player_1"], {})
    assert opened["action_meanings"]["player_1"] == ["Pass", "Bet"]
    assert opened["keys"]["player_0"] == {"p": 0, "b": 1}
    lane.play(3, 2)
    first, second = (lane.described[agent]["text"] for agent in opened["agents"])
    assert len(first) == 1 and len(second) == 2, "own card; own card and the first player's action"
    assert first != second[0]


def test_moves_are_named_and_masks_bind(lane: ArenaLane) -> None:
    lane.open("OpenSpiel/chess", needs=["description"])
    lane.play(3, 1)
    described = lane.described["player_1"]  # plays the white pieces
    assert described["text"].startswith("rnbqkbnr/pppppppp/8") and described["legal_moves"].keys() >= {
        "e4",
        "Nf3",
    }
    lane.do("ready", "reset", seed=1, episode_index=0)
    lane.send("step")
    lane.send("answer", id=lane.next()["id"], action=0)
    assert "is not allowed now" in lane.next()["message"]


def test_a_board_is_drawn(lane: ArenaLane) -> None:
    lane.open(TIC_TAC_TOE)
    pixels = first_picture(lane)
    assert pixels.shape[2] == 3 and pixels.max() > 200
    assert len(numpy.unique(pixels.reshape(-1, 3), axis=0)) > 2


def test_a_person_plays_against_random_moves_and_players_are_rated(lab: mosaic.Lab) -> None:
    policies = {"player_0": operators.human(), "player_1": operators.random()}
    comparison = lab.compare(
        env=TIC_TAC_TOE, operators={"random": operators.random(), "me": policies}, seeds=[1]
    )
    try:
        comparison.step(timeout=0)
        wait_until(lambda: comparison.act("me", "player_0", 4))
        comparison.wait(60)
        assert comparison.steps("me")["action"].tolist() == [4]
    finally:
        comparison.close()
    lanes = mosaic.policies.pairings(
        {"one": operators.random(), "two": operators.random()}, ["player_0", "player_1"]
    )
    evaluation = lab.evaluate(env=KUHN, operators=lanes, seeds=range(10)).wait(120)
    games = evaluation.games()
    assert len(games) == 20 and set(games["winner"]) == {"one", "two"}, "there is no draw in Kuhn poker"
    assert set(evaluation.ratings().index) == {"one", "two"}


@pytest.mark.extended
@pytest.mark.parametrize("game", [*BOARDS, *OTHERS])
def test_a_game(lane: ArenaLane, game: str) -> None:
    lane.open(f"OpenSpiel/{game}")
    assert first_picture(lane).max() > 200
    assert lane.play(1, 200) == lane.play(1, 200)


@pytest.mark.extended
def test_every_game_is_played_to_its_end_or_two_hundred_steps(
    worker: WorkerEnvironment, tmp_path: Path
) -> None:
    command = [str(worker.python), str(Path(__file__).with_name("random_games.py"))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]
    assert list(tmp_path.iterdir()) == []
