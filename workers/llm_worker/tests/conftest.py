"""Fixtures: the worker in its own environment, built once per session as for users, and a fake server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from language.language_fixtures import FakeServer
from operators.conversation import Conversation

from mosaic_lab import workers
from mosaic_lab.workers import WorkerEnvironment

_NUMBERS = count()


@pytest.fixture(scope="session")
def worker(mosaic_home: Path) -> WorkerEnvironment:
    return workers.ensure("llm")


@pytest.fixture(scope="session")
def server() -> Iterator[FakeServer]:
    server = FakeServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def talk(worker: WorkerEnvironment) -> Iterator[Conversation]:
    """A conversation with the operators of one process, which has the fake server's key."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_KEY", FakeServer.key)
        with Conversation(worker.command()) as conversation:
            yield conversation


@pytest.fixture
def fake(server: FakeServer) -> Callable[..., dict[str, Any]]:
    """Return settings for an operator whose model gives these answers in turn and then repeats the last."""

    def settings(*answers: str, **others: Any) -> dict[str, Any]:
        return {
            "model": server.script(f"scripted-{next(_NUMBERS)}", *answers),
            "base_url": server.openai_url,
            "api_key_env": "FAKE_KEY",
            "env_id": "Test-v0",
            **others,
        }

    return settings
