"""The tests' fake language server, run as a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from peers.language_server import KEY
from support import PEERS


class FakeServer:
    """A running `peers/language_server.py`, which documents its features.

    `url` is the bare address (Anthropic's SDK takes it), `openai_url` ends in /v1; `key` is the valid key.
    """

    key = KEY

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "peers.language_server"],
            cwd=PEERS.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        self.openai_url = f"{self.url}/v1"

    def script(self, model: str, *items: str) -> str:
        """Script a model of any name and return the name."""
        data = json.dumps({model: items}).encode()
        urllib.request.urlopen(f"{self.url}/script", data, timeout=30).close()
        return model

    def requests(self, model: str | None = None) -> list[dict[str, Any]]:
        """Return the last 2,000 requests, oldest first; those for ``model`` only, if given."""
        found = self._get()["requests"]
        return [request for request in found if model in (None, request["model"])]

    @property
    def count(self) -> int:
        """Number of requests so far."""
        return int(self._get()["count"])

    def _get(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/requests", timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)


@pytest.fixture
def language_server() -> Iterator[FakeServer]:
    """A fake language server for this test only."""
    server = FakeServer()
    try:
        yield server
    finally:
        server.close()
