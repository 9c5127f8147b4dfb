"""Fixture: the fake language server's key for the worker's process."""

import pytest
from peers.language_server import KEY


@pytest.fixture(autouse=True)
def key_of_the_fake_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
