"""Real trainings of the real upstream, each in its own process, shared by the tests.

Most join one Ray cluster, as users' may: starting a Ray for each takes longer than training does.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conversation import Conversation
from environment_fixtures import mosaic_home  # noqa: F401  (environments of a session live in a folder of its own)
from mosaic_contract.trial import Trial

from mosaic_lab import environments

SECONDS = 400.0  # upstream, torch and Ray take seconds to start, and far more on a machine that is busy
NETWORK = {"fcnet_hiddens": [32]}
PPO = {**NETWORK, "train_batch_size_per_learner": 200, "num_epochs": 2, "minibatch_size": 100}
SMALL: dict[str, dict[str, Any]] = {  # one of each family: enough to update its networks, and some episodes
    "ppo": {"env_id": "CartPole-v1", "total_timesteps": 600, **PPO, "num_env_runners": 0},
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


@dataclass
class Finished:
    """A run that ended: its messages, its exit code, its log, and what it left behind."""

    messages: list[dict[str, Any]]
    code: int | None
    log: str
    leftovers: list[str]

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of all events of a kind."""
        return [message["payload"] for message in self.messages if message.get("event") == kind]

    @property
    def episodes(self) -> list[dict[str, Any]]:
        return [message for message in self.messages if message.get("type") == "episode"]

    @property
    def metrics(self) -> dict[str, float]:
        """The last value of each."""
        return {
            name: value for payload in self.events("metrics") for name, value in payload["values"].items()
        }

    @property
    def checkpoints(self) -> list[Path]:
        return [Path(saved["checkpoint_path"]) for saved in self.events("checkpoint_saved")]


class Cluster:
    """A Ray cluster of users' own: a head node, and others that may come and go."""

    def __init__(self, python: str) -> None:
        self._ray = Path(python).with_name("ray")
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        self._environ = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": os.environ["RAY_AUTH_TOKEN"],
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        self._nodes: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self.add("--head", f"--port={port}", "--num-cpus=2", "--include-dashboard=false")

    def add(self, *arguments: str) -> subprocess.Popen[bytes]:
        """One more node. A first start, which compiles Ray's Python, may take longer than Ray waits: then the
        second does not.
        """
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
        wait_for(lambda: "Ray runtime started" in log.read_text() or node.poll() is not None)
        return node, log

    def lose(self, node: subprocess.Popen[bytes]) -> None:
        """As if its machine went off."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGKILL)
        node.wait()

    def answers(self) -> bool:
        """Whether its state can be asked for."""
        status = [self._ray, "status", "--address", self.address]
        return subprocess.run(status, env=self._environ, capture_output=True, timeout=SECONDS).returncode == 0

    def close(self) -> None:
        for node in reversed(self._nodes):
            self.lose(node)
        shutil.rmtree(self.folder, ignore_errors=True)


class RayWorker:
    """The worker in its environment. `train` runs it, `trained` a small training, once."""

    small = SMALL

    def __init__(self, python: str, folder: Path) -> None:
        self.wait_for = wait_for
        self.python = python
        self.folder = folder
        self.trained = functools.cache(lambda name: self.train(**self.configuration(name)))

    @functools.cached_property
    def cluster(self) -> Cluster:
        return Cluster(self.python)

    def configuration(self, name: str) -> dict[str, Any]:
        """Of a small training, on the cluster."""
        return {"algorithm": name, **SMALL[name], "address": self.cluster.address}

    def error(self, **config: Any) -> str:
        """What a bad configuration is told."""
        return str(self._dry_run(2, **config)["payload"]["error"])

    def resolved(self, **config: Any) -> dict[str, Any]:
        """What a good one becomes."""
        return self._dry_run(0, **config)

    def train(self, meanwhile: Callable[[Trial], object] = lambda trial: None, **config: Any) -> Finished:
        """Train to the end."""
        path = self._write({"seed": 1, **config})
        with Trial(self._command(path), path.parent) as trial:
            meanwhile(trial)
            assert trial.wait(SECONDS), f"still running: {trial.log_tail()}"
        log = trial.stderr_path.read_text()
        return Finished(trial.messages(), trial.code, log, trial.leftovers)

    def output_of(self, *arguments: str) -> Any:
        """The JSON that the worker's interpreter prints last."""
        command = [self.python, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def _dry_run(self, code: int, **config: Any) -> dict[str, Any]:
        path = self._write({"run_id": "dry", "seed": 1, "total_timesteps": 10_000, **config})
        command = [*self._command(path), "--dry-run"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == code, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def _command(self, config: Path) -> list[str]:
        return [self.python, "-m", "ray_worker.cli", "--config", str(config)]

    def _write(self, config: dict[str, Any]) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        path = folder / "config.json"
        path.write_text(json.dumps({"run_id": folder.name, **config}))
        return path


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture(scope="session")
def worker(mosaic_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayWorker]:  # noqa: F811
    """The worker in an environment built as users build it. Its processes may keep compiled files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        patch.setattr("conversation.SECONDS", SECONDS)
        python = str(environments.ensure("rllib").python)
        worker = RayWorker(python, tmp_path_factory.mktemp("runs"))
        yield worker
        if "cluster" in vars(worker):
            worker.cluster.close()


@pytest.fixture(scope="session")
def operators(worker: RayWorker) -> Iterator[Conversation]:
    """One process in which operators act."""
    with Conversation([worker.python, "-m", "ray_worker.cli"]) as talk:
        yield talk
