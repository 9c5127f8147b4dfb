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
from arena_lane import ArenaLane
from conversation import Conversation
from environment_fixtures import mosaic_home  # noqa: F401  (environments of a session live in a folder of its own)
from mosaic_contract.trial import Trial

from mosaic_lab import environments

SECONDS = 300.0  # upstream takes seconds to import and to compile, and far more on a machine that is busy
_NETWORK = {
    "transformer_num_blocks": 1,
    "transformer_num_heads": 1,
    "transformer_key_size": 4,
    "transformer_mlp_units": [8],
}
SMALL: dict[str, dict[str, Any]] = {  # short episodes of 20 steps, and what compiles fastest
    "a2c": {"total_timesteps": 800, "n_steps": 10, "total_batch_size": 8, **_NETWORK},
    "ppo": {
        "total_timesteps": 800,
        "n_steps": 50,
        "n_envs": 4,
        "n_epochs": 1,
        "batch_size": 100,
        "net_arch": [8],
    },
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

    def metric(self, name: str) -> dict[int, float]:
        """Its values by step."""
        told = self.events("metrics")
        return {one["step"]: one["values"][name] for one in told if name in one["values"]}

    @property
    def checkpoints(self) -> list[Path]:
        return [Path(saved["checkpoint_path"]) for saved in self.events("checkpoint_saved")]


class JumanjiWorker:
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

    def train(self, during: Callable[[Trial], None] | None = None, **config: Any) -> Finished:
        """Train to the end on the environment that compiles fastest; `during` may disturb the run."""
        path = self._write({"seed": 1, "env_id": "TSP-v1", **config})
        with Trial(self._command(path), path.parent) as trial:
            if during is not None:
                during(trial)
            assert trial.wait(SECONDS), f"still running: {trial.log_tail()}"
        log = trial.stderr_path.read_text()
        return Finished(trial.messages(), trial.code, log, trial.leftovers)

    def output_of(self, *arguments: str) -> Any:
        """The JSON that the worker's interpreter prints last."""
        done = subprocess.run([self.python, *arguments], capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def _command(self, config: Path) -> list[str]:
        return [self.python, "-m", "jumanji_worker.cli", "--config", str(config)]

    def _write(self, config: dict[str, Any]) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        path = folder / "config.json"
        path.write_text(json.dumps({"run_id": folder.name, **config}))
        return path


@pytest.fixture(scope="session")
def worker(mosaic_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JumanjiWorker]:  # noqa: F811
    """The worker in an environment built as users build it. Its processes may keep compiled files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setattr("conversation.SECONDS", SECONDS)
        patch.setattr("arena_lane.SECONDS", SECONDS)
        python = str(environments.ensure("jumanji").python)
        yield JumanjiWorker(python, tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def operators(worker: JumanjiWorker) -> Iterator[Conversation]:
    """One process in which operators act."""
    with Conversation([worker.python, "-m", "jumanji_worker.cli"]) as talk:
        yield talk


@pytest.fixture
def lane(worker: JumanjiWorker, tmp_path: Path) -> Iterator[ArenaLane]:
    """An arena of this family."""
    with ArenaLane([worker.python, "-m", "jumanji_worker.cli"], tmp_path / "lane") as arena:
        yield arena
