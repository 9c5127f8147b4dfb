"""Real trainings of the real upstream, each in its own process and run folder, shared by the tests.

`MOSAIC_TEST_CLEANRL_PYTHON` names an interpreter that has the worker; without it the worker's environment
is built once a session, as users build it. `MOSAIC_TEST_CLEANRL_CHECKOUT` names a checkout of upstream:
then every test that trains runs with that source too (`MOSAIC_TEST_CLEANRL_CHECKOUT_PYTHON`: an interpreter
that has it already).
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from mosaic_contract.conformance.observed_process import ObservedProcess
from shim_kit.fixtures import mosaic_home  # noqa: F401

TRAINING_SECONDS = 180.0
DEFAULT, CHECKOUT = "default source", "checkout"
SOURCES = [DEFAULT, *([CHECKOUT] if os.environ.get("MOSAIC_TEST_CLEANRL_CHECKOUT") else [])]
SMALL: dict[str, dict[str, Any]] = {  # enough of each algorithm to update its networks
    "ppo": {"env_id": "CartPole-v1", "total_timesteps": 2048},
    "ppo_continuous": {
        "env_id": "Pendulum-v1",
        "total_timesteps": 1024,
        "num_steps": 256,
        "num_envs": 2,
        "update_epochs": 2,
    },
    "dqn": {
        "env_id": "CartPole-v1",
        "total_timesteps": 600,
        "learning_starts": 400,
        "batch_size": 32,
        "seed": 0,
    },
    "c51": {"env_id": "CartPole-v1", "total_timesteps": 600, "learning_starts": 400, "batch_size": 32},
    "ddpg": {"env_id": "Pendulum-v1", "total_timesteps": 600, "learning_starts": 400, "batch_size": 32},
    "td3": {"env_id": "Pendulum-v1", "total_timesteps": 600, "learning_starts": 400, "batch_size": 32},
    "sac": {"env_id": "Pendulum-v1", "total_timesteps": 600, "learning_starts": 400, "batch_size": 32},
    "rpo": {"env_id": "Pendulum-v1", "total_timesteps": 512, "num_steps": 256},
    "pqn": {"env_id": "CartPole-v1", "total_timesteps": 1024},
}
ONLY_CURRENT = ("ddpg", "rpo", "pqn")
"""What the release of 2021 does not have, or not so that it runs."""


@dataclass
class Finished:
    """A run that ended: its folder, its messages, its exit code, its log, and what it wrote outside its
    folder.
    """

    folder: Path
    messages: list[dict[str, Any]]
    code: int | None
    log: str
    leftovers: list[str]
    outside: list[str]

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of all events of a kind."""
        return [message["payload"] for message in self.messages if message.get("event") == kind]

    @property
    def episodes(self) -> list[dict[str, Any]]:
        return [message for message in self.messages if message.get("type") == "episode"]

    def series(self, name: str) -> list[tuple[int, float]]:
        """(step, value) of one metric, in the order written."""
        return [(m["step"], m["values"][name]) for m in self.events("metrics") if name in m["values"]]

    @property
    def checkpoints(self) -> list[Path]:
        return [Path(saved["checkpoint_path"]) for saved in self.events("checkpoint_saved")]


@dataclass
class CleanRLWorker:
    """The worker in one environment. `train` runs it; `trained` runs the small training of an algorithm
    once.
    """

    python: str
    folder: Path
    name: str = "cleanrl"
    _runs: dict[str, Finished] = field(default_factory=dict)

    def check(self, **config: Any) -> tuple[int, dict[str, Any], str]:
        """A dry run: exit code, the document on stdout, stderr."""
        path = self._write({"run_id": "dry", "seed": 1, "total_timesteps": 2048, **config})
        done = subprocess.run([*self.command(path), "--dry-run"], capture_output=True, text=True, timeout=60)
        return done.returncode, json.loads(done.stdout), done.stderr

    def error(self, **config: Any) -> str:
        """Return the error of a bad configuration."""
        code, document, stderr = self.check(**config)
        assert code == 2, stderr
        assert document["event"] == "run_failed"
        assert document["payload"]["error_type"] == "ConfigError"
        return str(document["payload"]["error"])

    @functools.cached_property
    def legacy(self) -> bool:
        """Whether upstream is the release of 2021."""
        code, resolved, stderr = self.check(algorithm="ppo", env_id="CartPole-v1")
        assert code == 0, stderr
        return bool(resolved["upstream"]["version"] == "0.4.8")

    @functools.cached_property
    def algorithms(self) -> list[str]:
        """What the worker says it can train."""
        command = [self.python, "-m", "cleanrl_worker.cli", "--describe"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return list(json.loads(done.stdout)["capabilities"]["algorithms"])

    def small(self, algorithm: str) -> dict[str, Any]:
        """The configuration of the small training of an algorithm."""
        return dict(SMALL[algorithm])

    def trained(self, algorithm: str) -> Finished:
        if algorithm not in self._runs:
            self._runs[algorithm] = self.train(algorithm=algorithm, **self.small(algorithm))
        return self._runs[algorithm]

    def train(self, during: Callable[[ObservedProcess], None] | None = None, **config: Any) -> Finished:
        """Train to the end; `during` may disturb the run."""
        path = self._write({"seed": 1, **config})
        outside = path.parent.parent / f"{path.parent.name}-elsewhere"
        outside.mkdir()
        elsewhere = {"HOME": str(outside), "TMPDIR": str(outside)}
        with (
            mock.patch.dict(os.environ, elsewhere),
            ObservedProcess(self.command(path), path.parent) as trial,
        ):
            if during is not None:
                during(trial)
            assert trial.wait(TRAINING_SECONDS), f"still running: {trial.log_tail()}"
        return Finished(
            folder=path.parent,
            messages=trial.messages(),
            code=trial.code,
            log=trial.stderr_path.read_text(),
            leftovers=trial.leftovers,
            outside=[str(found) for found in outside.rglob("*")],
        )

    def command(self, config: Path) -> list[str]:
        return [self.python, "-m", "cleanrl_worker.cli", "--config", str(config)]

    def _write(self, config: dict[str, Any]) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        path = folder / "config.json"
        path.write_text(json.dumps({"run_id": folder.name, **config}))
        return path


@pytest.fixture(scope="session")
def cleanrl_python(mosaic_home: Path) -> str:  # noqa: F811
    """An interpreter that has the worker with its default source."""
    if given := os.environ.get("MOSAIC_TEST_CLEANRL_PYTHON"):
        return given
    from mosaic_lab import workers

    return str(workers.ensure("cleanrl").python)


@pytest.fixture(scope="session")
def checkout_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter that has the worker with a checkout of upstream."""
    if given := os.environ.get("MOSAIC_TEST_CLEANRL_CHECKOUT_PYTHON"):
        return given
    from mosaic_lab import workers

    home = tmp_path_factory.mktemp("checkout-home")
    with mock.patch.dict(os.environ, MOSAIC_LAB_HOME=str(home)):
        checkout = os.environ["MOSAIC_TEST_CLEANRL_CHECKOUT"]
        return str(workers.install("cleanrl", source=checkout).python)


@pytest.fixture(scope="session")
def workers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], CleanRLWorker]:
    """The worker by the source of its upstream, one object a session."""

    @functools.cache
    def worker_with(source: str) -> CleanRLWorker:
        fixture = "cleanrl_python" if source == DEFAULT else "checkout_python"
        return CleanRLWorker(request.getfixturevalue(fixture), tmp_path_factory.mktemp("runs"))

    return worker_with


@pytest.fixture(params=SOURCES)
def worker(request: pytest.FixtureRequest, workers: Callable[[str], CleanRLWorker]) -> CleanRLWorker:
    """The worker, once for each source of upstream."""
    return workers(request.param)


@pytest.fixture(
    params=[(source, name) for source in SOURCES for name in SMALL if name not in ONLY_CURRENT], ids="-".join
)
def finished(request: pytest.FixtureRequest, workers: Callable[[str], CleanRLWorker]) -> Finished:
    """A finished small training of each algorithm that every upstream can train."""
    source, algorithm = request.param
    return workers(source).trained(algorithm)
