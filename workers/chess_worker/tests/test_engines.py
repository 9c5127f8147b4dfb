"""UCI engines: Debian's Stockfish respects its limits and rating, and leaves no process behind."""

from __future__ import annotations

from typing import Any

import psutil
from operators.chess_fixtures import ACTIONS, MATE, START, move, sit_down
from operators.conversation import Conversation
from support import wait_until

from mosaic_lab.workers import WorkerEnvironment


def test_it_plays_the_move_of_the_position(talk: Conversation, stockfish: str) -> None:
    sit_down(talk, program="stockfish", nodes=2_000)
    found = move(talk, MATE)
    assert (found["action"], found["action_str"]) == (7, "a1a8")
    assert "mate in 1: a1a8" in found["reasoning"]
    sit_down(talk, "player_1", program=stockfish, depth=4)
    assert move(talk, MATE, "player_1")["action"] == 7


def test_without_a_rating_the_same_game_comes_again(worker: WorkerEnvironment, stockfish: str) -> None:
    def moves() -> list[str]:
        with Conversation(worker.command()) as talk:
            sit_down(talk, program="stockfish", nodes=5_000)
            first = [move(talk, description)["action_str"] for description in (START, MATE, START)]
            talk.ask("episode_begin", player_id="player_0", seed=2, episode_index=1)
            return [*first, move(talk, START)["action_str"]]

    assert moves() == moves()


def test_what_cannot_be_is_refused(talk: Conversation, stockfish: str) -> None:
    def refusal(**settings: Any) -> str:
        answer = talk.ask("init_agent", player_id="x", action_space=ACTIONS, settings=settings)
        assert answer["error_type"] == "ConfigError", answer
        return str(answer["message"])

    assert "Elo from 1350 to 2850, not at 900" in refusal(program="stockfish", elo=900, nodes=10)
    assert "'nofish' is not installed on this machine; give the path" in refusal(program="nofish", nodes=10)
    assert "/bin/true did not start as a UCI engine" in refusal(program="/bin/true", nodes=10)
    wait_until(lambda: psutil.Process(talk.process.pid).children() == [])
    sit_down(talk, program="stockfish", elo=1350, nodes=10)
    answer = talk.ask("select_action", player_id="player_0", observation=0)
    assert "acts where the environment gives its position" in answer["message"]


def test_its_process_is_started_again_and_ends_with_the_player(talk: Conversation, stockfish: str) -> None:
    sit_down(talk, program="stockfish", nodes=500)
    (engine,) = psutil.Process(talk.process.pid).children()
    engine.kill()
    answer = talk.ask("select_action", player_id="player_0", observation=0, description=MATE)
    assert answer["retryable"] and "exited unexpectedly" in answer["message"]
    assert move(talk, MATE)["action"] == 7
    (engine,) = psutil.Process(talk.process.pid).children()
    assert talk.ask("stop")["type"] == "stopped"
    wait_until(lambda: not engine.is_running())
