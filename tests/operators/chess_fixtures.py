"""Fixtures for tests of chess players: Stockfish, positions, and players in a conversation."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest
from operators.conversation import Conversation

ACTIONS = {"type": "Discrete", "n": 4672}
START = {
    "fen": "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "legal_moves": {"e2e4": 11, "d2d4": 12, "g1f3": 13, "a2a3": 14},
}
MATE = {  # mate in one
    "fen": "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1",
    "legal_moves": {"a1a8": 7, "a1a7": 8, "g1f1": 9},
}


@pytest.fixture(scope="session")
def stockfish() -> str:
    """Path of Stockfish; tests that use it are skipped if it is not installed."""
    found = shutil.which("stockfish", path=os.pathsep.join([os.environ["PATH"], "/usr/games"]))
    if found is None:
        pytest.skip("no Stockfish: apt-get install stockfish")
    return found


def sit_down(talk: Conversation, player_id: str = "player_0", **settings: Any) -> None:
    """Create a player in the conversation and begin its episode."""
    talk.agent(ACTIONS, player_id, seed=1, settings=settings)
    talk.ask("episode_begin", player_id=player_id, seed=2, episode_index=0)


def move(talk: Conversation, description: dict[str, Any], player_id: str = "player_0") -> dict[str, Any]:
    """Return a player's answer in a position."""
    return talk.act(player_id=player_id, description=description, step_index=0)
