"""Trainings with the real upstream, each in its own process, shared by the tests.

Most join one Ray cluster, as users' trainings may: starting Ray for each takes longer than training.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shim_kit.training_worker import SECONDS, TrainingWorker, interpreter_of
from support import wait_until

NETWORK = {"fcnet_hiddens": [32]}
PPO = {**NETWORK, "train_batch_size_per_learner": 200, "num_epochs": 2, "minibatch_size": 100}
SMALL: dict[str, dict[str, Any]] = {  # one per family, long enough for updates and some episodes
    "ppo": {"env_id": "CartPole-v1", "total_timesteps": 600, **PPO, "num_env_runners": 0},
    "impala": {
        "env_id": "CartPole-v1",
        "total_timesteps": 1000,
        **NETWORK,
        "train_batch_size_per_learner": 100,
        "num_env_runners": 1,
        "min_time_s_per_iteration": 2.0,
    },
    "dqn": {
        "env_id": "CartPole-v1",
        "total_timesteps": 300,
        **NETWORK,
        "num_steps_sampled_before_learning_starts": 100,
        "min_sample_timesteps_per_iteration": 100,
    },
    "sac": {
        "env_id": "Pendulum-v1",
        "total_timesteps": 450,
        **NETWORK,
        "num_steps_sampled_before_learning_starts": 300,
        "train_batch_size_per_learner": 32,
        "min_time_s_per_iteration": 0.0,
    },
    "team": {
        "algorithm": "ppo",
        "env_id": "simple_tag_v3",
        "total_timesteps": 400,
        **PPO,
        "num_env_runners": 1,
        "policies": {"agent_0": "good", "*": "adversary"},
    },
}


class Cluster:
    """A user's own Ray cluster: a head node, and nodes that come and go. Without ``token``, any process that
    reaches the cluster may use it."""

    def __init__(self, python: str, token: str | None) -> None:
        self._ray = Path(python).with_name("ray")
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        self._environ = {
            **os.environ,
            "RAY_AUTH_MODE": "token" if token else "disabled",
            "RAY_AUTH_TOKEN": token or "",
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        self._nodes: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self.add("--head", f"--port={port}", "--num-cpus=2", "--include-dashboard=false")

    def add(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a node; retry once, since a first start also compiles Ray's Python and may exceed Ray's own
        deadline."""
        node, log = self._start(*arguments)
        if node.poll() is not None:
            self.lose(node)
            node, log = self._start(*arguments)
        assert node.poll() is None, log.read_text()[-3000:]
        return node

    def _start(self, *arguments: str) -> tuple[subprocess.Popen[bytes], Path]:
        folder = self.folder / str(len(self._nodes))
        log = self.folder / f"{folder.name}.log"
        command = [self._ray, "start", "--block", "--object-store-memory=100000000", *arguments]
        if "--head" in arguments:
            command.append(f"--temp-dir={folder}")
        with log.open("wb") as out:
            node = subprocess.Popen(
                command, stdout=out, stderr=out, env=self._environ, start_new_session=True
            )
        self._nodes.append(node)
        wait_until(lambda: "Ray runtime started" in log.read_text() or node.poll() is not None, SECONDS)
        return node, log

    def lose(self, node: subprocess.Popen[bytes]) -> None:
        """Kill the node, as if its machine were switched off."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGKILL)
        node.wait()

    def status(self) -> str:
        """Return the cluster's report on its nodes and their work; empty if it does not answer."""
        command = [self._ray, "status", "--address", self.address]
        return subprocess.run(
            command, env=self._environ, capture_output=True, text=True, timeout=SECONDS
        ).stdout

    def close(self) -> None:
        for node in reversed(self._nodes):
            self.lose(node)
        shutil.rmtree(self.folder, ignore_errors=True)


class RayWorker(TrainingWorker):
    """Runs its small trainings on the cluster."""

    @functools.cached_property
    def cluster(self) -> Cluster:
        return Cluster(self.python, os.environ["RAY_AUTH_TOKEN"])

    def configuration(self, name: str) -> dict[str, Any]:
        return {**super().configuration(name), "address": self.cluster.address}


@pytest.fixture(scope="session")
def worker(mosaic_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayWorker]:
    with interpreter_of("rllib") as python, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        worker = RayWorker("rllib", python, tmp_path_factory.mktemp("runs"), SMALL, module="ray_worker.cli")
        yield worker
        if "cluster" in vars(worker):
            worker.cluster.close()


@pytest.fixture
def open_cluster(worker: RayWorker) -> Iterator[Cluster]:
    """A cluster that requires no token."""
    with contextlib.closing(Cluster(worker.python, None)) as cluster:
        yield cluster
