"""Real trainings of the real upstream, each in its own process, shared by the tests."""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conversation import Conversation
from environment_fixtures import mosaic_home  # noqa: F401  (environments of a session live in a folder of its own)
from mosaic_contract.trial import Trial

from mosaic_lab import environments

TRAINING_SECONDS = 180.0
NARROW = {"hidden_sizes": [16, 16]}
_CARTPOLE = {"env_id": "CartPole-v1", "num_training_envs": 4}
_PENDULUM = {"env_id": "Pendulum-v1", "num_training_envs": 4}
SMALL: dict[str, dict[str, Any]] = {  # one of each family: enough to update its networks, and some episodes
    "dqn": {**_CARTPOLE, "total_timesteps": 400, "start_timesteps": 100, "batch_size": 16},
    "c51": {**_CARTPOLE, "total_timesteps": 404, "start_timesteps": 100, "batch_size": 16},
    "ppo": {**_CARTPOLE, "total_timesteps": 400, "collection_step_num_env_steps": 200},
    "sac": {**_PENDULUM, "total_timesteps": 840, "batch_size": 16, "save_buffer": True, "buffer_size": 600},
}
_EPOCHS = {"total_timesteps": 220, "epoch_num_steps": 110, "test_step_num_episodes": 2}
OFFLINE: dict[str, dict[str, Any]] = {  # from what sac has recorded; gail steps its environments
    "bcq": {"env_id": "Pendulum-v1", **_EPOCHS},
    "cql": {"env_id": "Pendulum-v1", **_EPOCHS},
    "gail": {**_PENDULUM, "total_timesteps": 1600, "collection_step_num_env_steps": 800},
}


@dataclass
class Finished:
    """A run that ended: its messages, its exit code, its log."""

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
    def returns(self) -> list[tuple[int, float]]:
        """(step, return) of each episode."""
        return [(episode["step"], episode["total_reward"]) for episode in self.episodes]

    @property
    def names(self) -> set[str]:
        """All metrics."""
        return {name for payload in self.events("metrics") for name in payload["values"]}

    @property
    def checkpoints(self) -> list[Path]:
        return [Path(saved["checkpoint_path"]) for saved in self.events("checkpoint_saved")]


class TianshouWorker:
    """The worker in its environment. `train` runs it, `trained` the small training of an algorithm, once."""

    small = SMALL
    offline = OFFLINE

    def __init__(self, python: str, folder: Path) -> None:
        self.python = python
        self.folder = folder
        self.trained = functools.cache(self._train_small)

    @property
    def dataset(self) -> Path:
        """What the small training of sac has recorded."""
        return Path(self.trained("sac").checkpoints[-1].parents[1] / "dataset.hdf5")

    def error(self, **config: Any) -> str:
        """What a bad configuration is told."""
        path = self._write({"run_id": "dry", "seed": 1, "total_timesteps": 10_000, **config})
        done = subprocess.run([*self.command(path), "--dry-run"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2, done.stderr
        return str(json.loads(done.stdout)["payload"]["error"])

    def train(self, during: Callable[[Trial], None] | None = None, **config: Any) -> Finished:
        """Train to the end with few environments and small networks; `during` may disturb the run."""
        path = self._write({"seed": 1, **NARROW, **config})
        with Trial(self.command(path), path.parent) as trial:
            if during is not None:
                during(trial)
            assert trial.wait(TRAINING_SECONDS), f"still running: {trial.log_tail()}"
        log = trial.stderr_path.read_text()
        return Finished(trial.messages(), trial.code, log, trial.leftovers)

    def command(self, config: Path) -> list[str]:
        return [self.python, "-m", "tianshou_worker.cli", "--config", str(config)]

    def _train_small(self, algorithm: str) -> Finished:
        if algorithm in OFFLINE:
            return self.train(algorithm=algorithm, dataset=str(self.dataset), **OFFLINE[algorithm])
        return self.train(algorithm=algorithm, **SMALL[algorithm])

    def _write(self, config: dict[str, Any]) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        path = folder / "config.json"
        path.write_text(json.dumps({"run_id": folder.name, **config}))
        return path


@pytest.fixture(scope="session")
def worker(mosaic_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TianshouWorker]:  # noqa: F811
    """The worker in an environment built as users build it. Its processes may keep compiled files: upstream
    and torch take ten seconds to compile.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        python = str(environments.ensure("tianshou").python)
        yield TianshouWorker(python, tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def operators(worker: TianshouWorker) -> Iterator[Conversation]:
    """One process in which operators act."""
    with Conversation([worker.python, "-m", "tianshou_worker.cli"]) as talk:
        yield talk
