"""The worker in an environment of its own; its process has the fake server's key."""

import pytest
from language.language_fixtures import language_server  # noqa: F401
from operators.chess_fixtures import stockfish  # noqa: F401
from peers.language_server import KEY
from shim_kit.fixtures import mosaic_home, talk, worker_fixture  # noqa: F401

worker = worker_fixture("chess")


@pytest.fixture(autouse=True)
def key_of_the_fake_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
