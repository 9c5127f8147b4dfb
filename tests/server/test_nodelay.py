"""The extension in a real Jupyter server: it loads without a warning, and sets TCP_NODELAY on kernels'
websockets unless configured otherwise."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.jupyter import JupyterLab
from browser.server import serving
from support import wait_until
from tornado.websocket import websocket_connect

ROOT = Path(__file__).parents[2]

# Replaces the class that connects a page to a kernel; writes the socket's TCP_NODELAY option to a file.
PROBE = """
import socket
from pathlib import Path
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection

class Probe(ZMQChannelsWebsocketConnection):
    async def connect(self):
        page = self.websocket_handler.ws_connection.stream.socket
        Path("nodelay").write_text(str(bool(page.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))))
        await super().connect()
"""


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[JupyterLab]:
    """A server with the wheel's configuration file, plus the options in the test's parameter."""
    shipped = json.loads((ROOT / "js" / "jupyter_server_config.json").read_text())
    config = tmp_path / "config" / "jupyter_server_config.d" / "mosaic-lab.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps(shipped))
    (tmp_path / "probe.py").write_text(PROBE)
    probe = "--ServerApp.kernel_websocket_connection_class=probe.Probe"
    environ = {"PYTHONPATH": str(tmp_path), "JUPYTER_PREFER_ENV_PATH": "no"}
    with serving(tmp_path, probe, *getattr(request, "param", ()), environ=environ) as server:
        yield server


def connect_to_a_kernel(server: JupyterLab) -> None:
    """Start a kernel, open a websocket to it as a page does, and wait for its first message."""
    request = urllib.request.Request(server.address("api/kernels"), method="POST", data=b"{}")
    with urllib.request.urlopen(request, timeout=60) as answer:
        kernel = json.load(answer)["id"]

    async def open_and_listen() -> None:
        address = server.address(f"api/kernels/{kernel}/channels").replace("http", "ws", 1)
        connection = await websocket_connect(f"{address}&session_id=test")
        assert await connection.read_message()
        connection.close()

    asyncio.run(asyncio.wait_for(open_and_listen(), 60))


def nodelay(server: JupyterLab) -> str:
    connect_to_a_kernel(server)
    reported = server.root / "nodelay"
    wait_until(lambda: reported.exists() and reported.read_text())
    return reported.read_text()


def test_a_kernels_small_messages_do_not_wait(server: JupyterLab, tmp_path: Path) -> None:
    assert nodelay(server) == "True"
    log = (tmp_path / "server.log").read_text()
    assert "mosaic_lab.server | extension was successfully loaded" in log
    assert not re.search(r"^\[[WEC] .*(mosaic|nodelay|Probe)|Traceback", log, re.MULTILINE), log


@pytest.mark.parametrize("server", [["--MosaicLab.small_messages_at_once=False"]], indirect=True)
def test_jupyters_websockets_stay_as_they_are_if_configured(server: JupyterLab) -> None:
    assert nodelay(server) == "False"
