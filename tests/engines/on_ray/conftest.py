"""Fixtures: a Ray cluster on this machine, its profile, and scripts that run on it."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import subprocess
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

import mosaic_lab as mosaic
from mosaic_lab.engines import clusters
from mosaic_lab.engines.bridge_environment import RAY_VERSION
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.runs import Run

HEAD, CLIENT = "127.0.0.1:6379", "ray://127.0.0.1:10001"
TOKEN = "0123456789abcdef" * 3
_SETTINGS = {  # lost nodes are noticed soon, and workers run at normal priority
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "5000",
    "RAY_health_check_failure_threshold": "2",
    "RAY_worker_niceness": "0",
    "RAY_DISABLE_MEMORY_MONITOR": "1",
}
_STARTED = 120.0
_SECONDS = 90.0


class Nodes:
    """The cluster's nodes: processes of `ray start --block`, killed one by one, never by `ray stop`."""

    def __init__(self, ray: Path, folder: Path) -> None:
        self._ray = ray
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start a node with these environment variables; return when its raylet has joined."""
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
        log = self._folder / f"node-{len(self._processes)}.log"
        process = subprocess.Popen(
            [str(self._ray), "start", "--block", "--disable-usage-stats", *arguments],
            env={**os.environ, **token, **_SETTINGS, "RAY_TMPDIR": str(self._folder), **variables},
            cwd=self._folder,  # so that Python imports no code of this repository
            stdout=log.open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._processes.append(process)
        until(
            lambda: b"Ray runtime started" in log.read_bytes() or process.poll() is not None,
            _STARTED,
            lambda: log.read_text()[-1000:],
        )
        assert process.poll() is None, log.read_text()[-1000:]
        return process

    def end(self) -> None:
        for process in self._processes:
            kill_node(process)


def kill_node(process: subprocess.Popen[bytes]) -> None:
    """Send SIGKILL to the processes of a node itself, not to those of its actors and runs."""
    with suppress(psutil.NoSuchProcess):  # already killed
        parent = psutil.Process(process.pid)
        for one in [*parent.children(), parent]:
            one.kill()
    process.wait(30)


def until(holds: Callable[[], bool], seconds: float = _SECONDS, otherwise: Callable[[], str] = str) -> None:
    """Wait until a condition holds; fail with the message of `otherwise` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.05)


@pytest.fixture(scope="session", autouse=True)
def loopback() -> None:
    bring_loopback_up()


def bring_loopback_up() -> None:
    """Bring up the loopback, the namespace's only interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up, set_flags = 0x1 | 0x40, 0x8914
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh", b"lo", up))


@pytest.fixture(scope="session")
def nodes(loopback: None, mosaic_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """A head with two CPUs and one GPU, both declared for scheduling only."""
    (ray,) = mosaic_home.glob(f"bridges/ray-{RAY_VERSION}-*/bin/ray")
    nodes = Nodes(ray, Path(os.environ["TMPDIR"]))
    ports = ["--port=6379", "--ray-client-server-port=10001", "--include-dashboard=false"]
    nodes.start("--head", "--node-ip-address=127.0.0.1", *ports, "--num-cpus=2", "--num-gpus=1")
    yield nodes
    nodes.end()


@pytest.fixture(scope="session")
def cluster(nodes: Nodes, mosaic_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster's profile; its nodes build worker environments from wheels in a folder of their own."""
    os.environ["LAB_TOKEN"] = TOKEN
    folder = tmp_path_factory.mktemp("node")
    profile = Cluster(
        "gpu-lab", HEAD, token_env="LAB_TOKEN", folder=str(folder), wheels=os.environ["MOSAIC_TEST_WHEELS"]
    )
    clusters.add(profile)
    yield profile
    clusters.remove("gpu-lab")


PROGRAM = """
    import os, pathlib, sys, time
    folder = pathlib.Path(os.environ["MOSAIC_RUN_DIR"])
    lines = int(os.environ.get("LINES", "20"))
    print("token:", os.environ.get("LAB_TOKEN"), "gpus:", os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
    for number in range(lines):
        print(f"loss={number}", flush=True)
        time.sleep(float(os.environ.get("PAUSE", "0.01")))
    checkpoints = pathlib.Path(os.environ["MOSAIC_CHECKPOINTS_DIR"])
    checkpoints.mkdir(exist_ok=True)
    (checkpoints / "step-20.pt").write_bytes(b"weights" * 1_000_000)
    print("said to the end", pathlib.Path("data.txt").read_text())
"""


@pytest.fixture
def script(tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """A function that starts a user's script on the cluster, from a folder with its data."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "train.py").write_text(textwrap.dedent(PROGRAM))
    (folder / "data.txt").write_text("with its data")
    monkeypatch.chdir(folder)
    lab = mosaic.Lab(tmp_path / "runs")

    def start(
        on: str = "gpu-lab", gpus: int = 0, cpus: int = 1, restarts: int = 0, **env_vars: object
    ) -> Run:
        run = lab.train(
            "script",
            command=["python", "train.py"],
            on=on,
            gpus=gpus,
            threads=cpus,
            restarts=restarts,
            env_vars={name: str(value) for name, value in env_vars.items()},
        )
        assert isinstance(run, Run)
        return run

    return start
