"""Fixtures: a chess engine, and the fake language server's key for the worker's process."""

import pytest
from operators.chess_fixtures import stockfish  # noqa: F401
from peers.language_server import KEY


@pytest.fixture(autouse=True)
def key_of_the_fake_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
