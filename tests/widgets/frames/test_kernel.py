"""Frames from a real ipykernel to a simulated page that speaks the protocol over the kernel's sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from support import start_painter, store, wait_until

from mosaic_lab.runs import Run
from mosaic_lab.widgets.frames import TARGET

LAB = "import mosaic_lab as mosaic\nlab = mosaic.Lab({root!r})"
COUNT_HOOKS = "ran = []\nget_ipython().events.register('post_execute', lambda: ran.append(1))"


class KernelPage:
    """A page of a kernel: opens a view on a subshell, as JupyterLab does, and acknowledges its messages.

    Cells and comms use separate sockets, because two threads must not use one socket at once.
    """

    def __init__(self, manager: KernelManager) -> None:
        self.frames = 0
        self.printed: list[str] = []
        self.statuses = 0
        """Number of statuses that the kernel published for the comm's messages."""
        self._manager = manager
        self._comm = uuid4().hex
        self._client: BlockingKernelClient = manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=60)
        session = manager.session.clone()
        session.session = uuid4().hex  # the identity of the other socket
        self._comms: BlockingKernelClient = manager.client(session=session)
        self._comms.start_channels(iopub=False, stdin=False, hb=False, control=False)
        self._subshell = self._new_subshell()
        self._executed: set[str] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._hear, daemon=True)
        self._thread.start()

    def start(self, code: str) -> None:
        """Send a cell and wait until the kernel executes it: an earlier interrupt has no effect."""
        request = self._request(code)
        wait_until(lambda: request in self._executed)

    def run(self, code: str) -> dict[str, Any]:
        request = self._request(code)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            reply: dict[str, Any] = self._client.shell_channel.get_msg(timeout=60)
            if reply["parent_header"].get("msg_id") == request:
                return dict(reply["content"])
        raise TimeoutError(code)

    def open(self, run: Run) -> None:
        looks = {"visible": [0], "fps": 30, "paused": False}
        data = {"version": 1, "tiles": [{"run": str(run.path)}], **looks}
        self._say("comm_open", {"target_name": TARGET, "data": data})

    def send_to_kernel(self, data: dict[str, Any]) -> None:
        self._say("comm_msg", {"data": data})

    def interrupt(self) -> None:
        self._manager.interrupt_kernel()

    def close(self) -> None:
        self._ended.set()
        self._thread.join(10)
        self._client.stop_channels()
        self._comms.stop_channels()

    def _request(self, code: str) -> str:
        message = self._client.session.msg("execute_request", {"code": code, "silent": False})
        self._client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def _new_subshell(self) -> str:
        message = self._client.session.msg("create_subshell_request", {})
        self._client.control_channel.send(message)
        return str(self._client.control_channel.get_msg(timeout=30)["content"]["subshell_id"])

    def _say(self, kind: str, content: dict[str, Any]) -> None:
        message = self._comms.session.msg(kind, {"comm_id": self._comm, **content})
        message["header"]["subshell_id"] = self._subshell
        with self._lock:
            self._comms.shell_channel.send(message)

    def _hear(self) -> None:
        while not self._ended.is_set():
            if not self._client.iopub_channel.msg_ready():
                self._ended.wait(0.002)
                continue
            message = self._client.iopub_channel.get_msg(timeout=1)
            kind, content = message["header"]["msg_type"], message["content"]
            if kind == "execute_input":
                self._executed.add(message["parent_header"]["msg_id"])
            elif kind == "status":
                self.statuses += message["parent_header"].get("msg_type") == "comm_msg"
            elif kind == "stream":
                self.printed.append(content["text"])
            elif kind == "comm_msg" and content["comm_id"] == self._comm:
                self._take(content["data"])

    def _take(self, data: dict[str, Any]) -> None:
        if data["type"] == "frames":
            self.frames += 1
            if data["ack"]:
                self.send_to_kernel({"type": "ack", "id": data["id"]})


@pytest.fixture
def page(tmp_path: Path) -> Iterator[KernelPage]:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path))
    page = KernelPage(manager)
    yield page
    page.close()
    manager.shutdown_kernel(now=True)


@pytest.fixture
def watched(page: KernelPage, tmp_path: Path) -> Iterator[KernelPage]:
    """A page that receives the frames of a running painter."""
    with store(tmp_path / "runs") as supervisor:
        run = start_painter(supervisor)
        assert page.run(LAB.format(root=str(tmp_path / "runs")))["status"] == "ok"
        page.open(run)
        more(page)
        page.printed.clear()
        yield page


def more(page: KernelPage, count: int = 30) -> None:
    wanted = page.frames + count
    wait_until(lambda: page.frames >= wanted)


def test_frames_come_while_a_cell_runs_and_after_its_interrupt(watched: KernelPage) -> None:
    for cell in ("import time; time.sleep(60)", "while True: pass"):  # sleep or compute until interrupted
        watched.start(cell)
        more(watched, 60)
        watched.interrupt()
        wait_until(
            lambda: watched.run("'the next cell'")["status"] == "ok"
        )  # an interrupt also aborts queued cells
        more(watched)


def test_acknowledgements_are_not_handled_as_cells_are(watched: KernelPage) -> None:
    """They neither run cell hooks, such as matplotlib's, which shows and closes the running cell's figures,
    nor publish kernel statuses, which make a page redraw."""
    watched.run(COUNT_HOOKS)
    more(watched, 60)
    watched.run("before = len(ran)")
    more(watched, 60)
    reply = watched.run("assert len(ran) - before <= 2, ran")
    assert reply["status"] == "ok", reply
    assert watched.printed == [] and watched.statuses == 0
