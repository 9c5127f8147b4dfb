"""TextArena's games in arenas: texts, turns, rewards, seeds, human and random players."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.family_tests import pytest_generate_tests, test_wrong_ids_and_settings_are_refused  # noqa: F401
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.workers import WorkerEnvironment

pytestmark = pytest.mark.extended  # only some environment workers are built in every test run

TIC_TAC_TOE, NIM = "TextArena/TicTacToe-v0", "TextArena/Nim-v0"
REFUSED = [
    ("textarena/tictactoe", {}, "TextArena/TicTacToe-v0"),
    ("TextArena/Hangman-v0", {}, "not played here: it needs word lists"),
    (NIM, {"pile": [3]}, "did you mean 'piles'"),
    (NIM, {"num_players": 5}, "num_players"),
]
RANDOM_GAMES = Path(__file__).with_name("random_games.py")


def test_two_players_read_and_write(lane: ArenaLane) -> None:
    opened = lane.open(TIC_TAC_TOE, needs=["description"])
    assert (opened["paradigm"], opened["agents"], opened["teams"]) == ("aec", ["player_0", "player_1"], {})
    assert not opened["renders"] and "played in text only" in opened["render_reason"]
    assert {space["action"]["type"] for space in opened["spaces"].values()} == {"Text"}
    lane.do("ready", "reset", seed=1, episode_index=0)
    rewards: dict[str, float] = {}
    for move in ("[0]", "[3]", "[1]", "[4]", "[2]"):
        lane.send("step")
        request = lane.next()
        assert request["observation"] == request["description"]["text"]
        assert move in request["info"]["legal_moves"]
        lane.send("answer", id=request["id"], action=move)
        stepped = lane.next()
        rewards = stepped["rewards"]
    assert stepped["done"] and rewards == {"player_0": 1.0, "player_1": -1.0}


def test_seeds_hold_in_every_process_and_every_game_is_played(
    worker: WorkerEnvironment, tmp_path: Path
) -> None:
    command = [str(worker.python), str(RANDOM_GAMES)]
    digests = []
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stderr[-2000:]
        digests.append(hashlib.sha256(done.stdout.encode()).hexdigest())
    assert digests[0] == digests[1]
    assert list(tmp_path.iterdir()) == []


def test_a_person_types_and_a_random_player_picks(lab: mosaic.Lab) -> None:
    policies = {"player_0": operators.human(), "player_1": operators.random()}
    lanes = {"random": operators.random(), "me": policies}
    comparison = lab.compare(env=TIC_TAC_TOE, operators=lanes, seeds=[1])
    try:
        comparison.step(timeout=0)
        wait_until(lambda: comparison.act("me", "player_0", "[4]"))
        comparison.wait(60)
        comparison.step()
        first, second = comparison.steps("me")["action"]
        assert first == "[4]" and second in {f"[{cell}]" for cell in range(9)}
    finally:
        comparison.close()


def test_random_players_are_rated(lab: mosaic.Lab) -> None:
    players = {"one": operators.random(), "two": operators.random()}
    lanes = mosaic.policies.pairings(players, ["player_0", "player_1"])
    evaluation = lab.evaluate(env=NIM, operators=lanes, seeds=range(10)).wait(120)
    assert len(evaluation.games()) == 20
    assert set(evaluation.ratings().index) == {"one", "two"}
