"""A real kernel with a `Lab`, and a page's channel to a run store, without a browser."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

SECONDS = 60.0


_pages: dict[str, PageChannel] = {}
"""Channels by comm id: the channel that reads a message passes it on to its recipient."""


class PageChannel:
    """A comm ``mosaic_lab.overview`` whose messages go to a subshell, as JupyterLab's do."""

    def __init__(self, client: BlockingKernelClient, store: Path | str) -> None:
        self.client = client
        self.comm_id = uuid.uuid4().hex
        self.received: list[dict[str, Any]] = []
        self.buffers: dict[int, list[memoryview]] = {}
        self.models: set[str] = set()
        """Ids of the widget models that the kernel has opened and not closed, as of the last message read."""
        self.closed = False
        _pages[self.comm_id] = self
        self._numbers = itertools.count(1)
        self._subshell = self._create_subshell()
        self._send("comm_open", {"target_name": "mosaic_lab.overview", "data": {"store": str(store)}})

    def send(self, method: str, **params: Any) -> int:
        number = next(self._numbers)
        self._send("comm_msg", {"data": {"id": number, "method": method, "params": params}})
        return number

    def answer(self, number: int) -> dict[str, Any]:
        """Return the answer to a request, which follows the kernel's receipt."""
        answers = [one for one in self._until(number) if one.get("id") == number]
        assert answers[0] == {"id": number, "taken": True}
        return answers[1]

    def result(self, method: str, **params: Any) -> Any:
        answer = self.answer(self.send(method, **params))
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, **params: Any) -> str:
        answer = self.answer(self.send(method, **params))
        assert "error" in answer, answer
        return str(answer["error"])

    def changes(self) -> dict[str, Any]:
        """Return the next changes that the kernel pushes."""
        while not (pushed := [one for one in self.received if "changes" in one]):
            self._receive()
        self.received.remove(pushed[0])
        return pushed[0]["changes"]  # type: ignore[no-any-return]

    def wait_for_row(self, run_id: str, condition: Callable[[dict[str, Any]], bool]) -> None:
        """Wait until the kernel pushes a row of this run that meets the condition."""
        while not any(row["id"] == run_id and condition(row) for row in self.changes()["rows"]):
            pass

    def close(self) -> None:
        self._send("comm_close", {"data": {}})

    def wait_closed(self) -> None:
        while not self.closed:
            self._receive()

    def _until(self, number: int) -> list[dict[str, Any]]:
        while not any(one.get("id") == number and "taken" not in one for one in self.received):
            self._receive()
        return self.received

    def _receive(self) -> None:
        message = self.client.get_iopub_msg(timeout=SECONDS)
        comm = message["content"].get("comm_id")
        if message["msg_type"] == "comm_open":
            self.models.add(comm)
        elif message["msg_type"] == "comm_close":
            self.models.discard(comm)
        if (page := _pages.get(comm)) is not None:
            page._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        if message["msg_type"] == "comm_close":
            self.closed = True
        elif message["msg_type"] == "comm_msg":
            data = message["content"]["data"]
            self.received.append(data)
            self.buffers[data.get("id")] = message["buffers"]

    def _create_subshell(self) -> str:
        request = self.client.session.msg("create_subshell_request", {})
        self.client.control_channel.send(request)
        while (reply := self.client.get_control_msg(timeout=SECONDS))["parent_header"].get(
            "msg_id"
        ) != request["header"]["msg_id"]:
            pass
        return str(reply["content"]["subshell_id"])

    def request(self, kind: str) -> None:
        """Send a message of this kind to the subshell."""
        self._send(kind, {})

    def _send(self, kind: str, content: dict[str, Any]) -> None:
        message = self.client.session.msg(kind, {"comm_id": self.comm_id, **content})
        message["header"]["subshell_id"] = self._subshell
        self.client.shell_channel.send(message)


@contextmanager
def kernel_with_lab(root: Path) -> Iterator[BlockingKernelClient]:
    """A kernel in which ``lab`` is a `Lab` on ``root``."""
    manager, client = start_new_kernel(env=os.environ | {"PYDEVD_DISABLE_FILE_VALIDATION": "1"})
    try:
        execute(client, f"import mosaic_lab; lab = mosaic_lab.Lab({str(root)!r})")
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@contextmanager
def busy(client: BlockingKernelClient) -> Iterator[None]:
    """Keep the kernel busy with a cell that outlasts the block."""
    request = client.execute("import time; time.sleep(600)")
    while True:
        message = client.get_iopub_msg(timeout=SECONDS)
        if message["msg_type"] == "execute_input" and message["parent_header"]["msg_id"] == request:
            break
    yield


def execute(client: BlockingKernelClient, code: str) -> None:
    reply = client.execute(code, reply=True, timeout=SECONDS)
    assert reply["content"]["status"] == "ok", reply["content"]
