"""Kernel status: busy in every page for as long as a cell runs, whatever messages are handled meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from widgets.kernels import SECONDS, PageChannel, kernel_with_lab

CELL = (
    "import pathlib, time\nprint('running', flush=True)\n"
    "while not pathlib.Path({go!r}).exists():\n    time.sleep(0.02)"
)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[BlockingKernelClient]:
    with kernel_with_lab(tmp_path / "runs") as client:
        yield client


def published(client: BlockingKernelClient, wanted: Callable[[dict[str, Any]], bool]) -> list[str]:
    """Statuses that the kernel publishes before the wanted message."""
    states = []
    while not wanted(message := client.get_iopub_msg(timeout=SECONDS)):
        if message["msg_type"] == "status":
            states.append(message["content"]["execution_state"])
    return states


def answer_to(number: int) -> Callable[[dict[str, Any]], bool]:
    return lambda message: message["content"].get("data", {}).get("id") == number


def test_messages_handled_meanwhile_do_not_leave_it_idle(
    client: BlockingKernelClient, tmp_path: Path
) -> None:
    page = PageChannel(client, tmp_path / "runs")
    request = client.execute(CELL.format(go=str(tmp_path / "go")))
    published(client, lambda message: message["content"].get("text") == "running\n")
    for _ in range(20):
        page.request("comm_info_request")
    handled = published(client, answer_to(page.send("beat")))
    assert handled.count("idle") >= 20
    assert all(after == "busy" for state, after in pairwise(handled) if state == "idle")
    assert handled.count("busy") >= 2 * 20, "no busy status after each idle one"
    assert published(client, answer_to(page.send("beat"))) == [], "each status makes a page redraw"

    (tmp_path / "go").touch()
    published(client, lambda message: message["msg_type"] == "status" and ended(message, request))
    client.kernel_info()
    assert published(client, lambda message: message["msg_type"] == "status" and ended(message)) == ["busy"]


def ended(message: dict[str, Any], request: str = "") -> bool:
    return message["content"]["execution_state"] == "idle" and request in message["parent_header"]["msg_id"]
