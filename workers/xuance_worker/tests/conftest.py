"""Real trainings of the real upstream, each in its own process, shared by the tests."""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conversation import Conversation
from environment_fixtures import mosaic_home  # noqa: F401  (environments of a session live in a folder of its own)
from mosaic_contract.trial import Trial

from mosaic_lab import environments

SECONDS = 300.0  # upstream and torch take seconds to import, and far more on a machine that is busy
SMALL: dict[str, dict[str, Any]] = {  # one of each family: enough to update its networks, and some episodes
    "mappo": {"env_id": "simple_spread_v3", "total_timesteps": 800, "parallels": 4},
    "qmix": {"env_id": "simple_spread_v3", "total_timesteps": 800, "parallels": 5, "start_training": 100},
    "dqn": {"env_id": "CartPole-v1", "total_timesteps": 600, "parallels": 5, "start_training": 100},
}


@dataclass
class Finished:
    """A run that ended: its messages, its exit code, its log."""

    messages: list[dict[str, Any]]
    code: int | None
    log: str

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
            name: value
            for payload in self.events("metrics")
            for name, value in payload["values"].items()
            if name != "steps_per_second"
        }

    @property
    def checkpoints(self) -> list[Path]:
        return [Path(saved["checkpoint_path"]) for saved in self.events("checkpoint_saved")]


class XuanCeWorker:
    """The worker in its environment. `train` runs it, `trained` the small training of an algorithm, once."""

    small = SMALL

    def __init__(self, python: str, folder: Path) -> None:
        self.python = python
        self.folder = folder
        self.trained = functools.cache(lambda algorithm: self.train(algorithm=algorithm, **SMALL[algorithm]))

    def error(self, **config: Any) -> str:
        """What a bad configuration is told."""
        path = self._write({"run_id": "dry", "seed": 1, "total_timesteps": 10_000, **config})
        command = [*self._command(path), "--dry-run"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 2, done.stderr
        return str(json.loads(done.stdout)["payload"]["error"])

    def train(self, **config: Any) -> Finished:
        """Train to the end."""
        path = self._write({"seed": 1, **config})
        with Trial(self._command(path), path.parent) as trial:
            assert trial.wait(SECONDS), f"still running: {trial.log_tail()}"
        return Finished(trial.messages(), trial.code, trial.stderr_path.read_text())

    def output_of(self, *arguments: str) -> Any:
        """The JSON that the worker's interpreter prints last."""
        command = [self.python, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def _command(self, config: Path) -> list[str]:
        return [self.python, "-m", "xuance_worker.cli", "--config", str(config)]

    def _write(self, config: dict[str, Any]) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        path = folder / "config.json"
        path.write_text(json.dumps({"run_id": folder.name, **config}))
        return path


@pytest.fixture(scope="session")
def worker(mosaic_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[XuanCeWorker]:  # noqa: F811
    """The worker in an environment built as users build it. Its processes may keep compiled files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setattr("conversation.SECONDS", SECONDS)
        python = str(environments.ensure("xuance").python)
        yield XuanCeWorker(python, tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def operators(worker: XuanCeWorker) -> Iterator[Conversation]:
    """One process in which operators act."""
    with Conversation([worker.python, "-m", "xuance_worker.cli"]) as talk:
        yield talk
