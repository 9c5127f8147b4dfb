"""A fake language server for each module of these tests, and its key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from language.language_calls import KEY_VARIABLE
from language.language_fixtures import FakeServer


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    one = FakeServer()
    yield one
    one.close()


@pytest.fixture
def server_key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment variable that has the server's key."""
    monkeypatch.setenv(KEY_VARIABLE, FakeServer.key)
    return KEY_VARIABLE
