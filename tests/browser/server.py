"""A private JupyterLab server: every folder that Jupyter writes to is under the given home folder."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from browser.jupyter import JupyterLab

START_SECONDS = 90


@contextmanager
def serving(
    home: Path, *options: str, environ: Mapping[str, str] | None = None, without: Sequence[str] = ()
) -> Iterator[JupyterLab]:
    """Run a server until the block exits. Its root is ``home/root``, its log ``home/server.log``.

    ``options`` are added to its command line, ``environ`` to its environment variables; the extensions named
    in ``without`` are disabled.
    """
    root = home / "root"
    root.mkdir()
    page_config = home / "config" / "labconfig" / "page_config.json"
    page_config.parent.mkdir(parents=True)
    disabled = ("@jupyterlab/apputils-extension:announcements", *without)
    # The server does not exit while a page's check of JupyterLab's build is running.
    settings = {"disabledExtensions": dict.fromkeys(disabled, True), "buildCheck": False}
    page_config.write_text(json.dumps(settings))
    server = JupyterLab(f"http://127.0.0.1:{free_port()}", secrets.token_hex(16), root)
    environment = _environment(home) | dict(environ or {})
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*_command(server), *options], env=environment, cwd=root, stdout=log, stderr=log
        )
    try:
        _wait_until_served(server, process, home / "server.log")
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _command(server: JupyterLab) -> list[str]:
    return [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        f"--ServerApp.port={server.url.rpartition(':')[2]}",
        "--ServerApp.port_retries=0",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.root_dir={server.root}",
        f"--IdentityProvider.token={server.token}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]


def _environment(home: Path) -> dict[str, str]:
    return os.environ | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
    }


def _wait_until_served(server: JupyterLab, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(server.address("api/status"), timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(
        f"JupyterLab did not answer within {START_SECONDS} s; its log ends:\n{log.read_text()[-3000:]}"
    )
