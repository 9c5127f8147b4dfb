"""The worker in an environment of its own, built once a session as users build it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from language.language_fixtures import language_server  # noqa: F401
from operators.chess_fixtures import stockfish  # noqa: F401
from operators.conversation import Conversation
from peers.language_server import KEY
from worker_fixtures import mosaic_home  # noqa: F401  (environments of a session live in a folder of its own)

from mosaic_lab import workers
from mosaic_lab.workers import Environment


@pytest.fixture(scope="session")
def worker(mosaic_home: Path) -> Environment:  # noqa: F811
    return workers.ensure("chess")


@pytest.fixture
def talk(worker: Environment, monkeypatch: pytest.MonkeyPatch) -> Iterator[Conversation]:
    """A conversation with the players of one process, which has the fake server's key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Conversation(worker.command()) as conversation:
        yield conversation
