"""The process of the worker has the fake language server's key."""

import pytest
from peers.language_server import KEY


@pytest.fixture(autouse=True)
def key_of_the_fake_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
