"""Requests of a page to Jupyter's server, sent without a browser."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from browser.jupyter import JupyterLab

SECONDS = 60
CALL = "mosaic-lab/api/call"


@dataclass
class Answered:
    status: int
    content: bytes
    headers: http.client.HTTPMessage

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class Page:
    """Sends requests with ``headers``; by default they carry the server's token."""

    server: JupyterLab
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.headers = self.headers or {"Authorization": f"token {self.server.token}"}

    def send(self, path: str, data: bytes | None = None) -> Answered:
        request = urllib.request.Request(f"{self.server.url}/{path}", data, self.headers)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return Answered(answer.status, answer.read(), answer.headers)
        except urllib.error.HTTPError as error:
            return Answered(error.code, error.read(), error.headers)

    def call(self, store: Path | str | None, method: str, wait: float = 0, **params: Any) -> Answered:
        body = {"store": None if store is None else str(store), "method": method, "params": params}
        return self.send(CALL, json.dumps({**body, "wait": wait}).encode())

    def result(self, store: Path | str | None, method: str, wait: float = 0, **params: Any) -> Any:
        """Return the result of a call; assert that it succeeds."""
        answered = self.call(store, method, wait, **params)
        assert answered.status == 200, answered.content
        return answered.json["result"]

    def refusal(self, store: Path | str | None, method: str, **params: Any) -> tuple[int, str]:
        """Return the status and the message of a call that is refused."""
        answered = self.call(store, method, **params)
        return answered.status, answered.json["message"]
