"""Real trainings of the real upstream, each in its own process, shared by the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from arenas.arena_lane import ArenaLane
from operators.conversation import Conversation
from runs.training_worker import SECONDS, TrainingWorker, interpreter_of
from worker_fixtures import mosaic_home  # noqa: F401  (environments of a session live in a folder of its own)

_NETWORK = {
    "transformer_num_blocks": 1,
    "transformer_num_heads": 1,
    "transformer_key_size": 4,
    "transformer_mlp_units": [8],
}
SMALL: dict[str, dict[str, Any]] = {  # episodes of 20 steps, two in an update, and what compiles fastest
    "a2c": {"total_timesteps": 800, "n_steps": 40, "total_batch_size": 4, **_NETWORK},
    "ppo": {
        "total_timesteps": 800,
        "n_steps": 50,
        "n_envs": 4,
        "n_epochs": 1,
        "batch_size": 100,
        "net_arch": [8],
    },
}


@pytest.fixture(scope="session")
def worker(mosaic_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrainingWorker]:  # noqa: F811
    """Trains on the environment that compiles fastest, unless it is told another."""
    with interpreter_of("jumanji") as python, pytest.MonkeyPatch.context() as patch:
        patch.setattr("arenas.arena_lane.SECONDS", SECONDS)
        folder = tmp_path_factory.mktemp("runs")
        yield TrainingWorker("jumanji_worker.cli", python, folder, SMALL, {"env_id": "TSP-v1"})


@pytest.fixture(scope="session")
def operators(worker: TrainingWorker) -> Iterator[Conversation]:
    """One process in which operators act."""
    with worker.operators() as talk:
        yield talk


@pytest.fixture
def lane(worker: TrainingWorker, tmp_path: Path) -> Iterator[ArenaLane]:
    """An arena of this family."""
    with ArenaLane([worker.python, "-m", "jumanji_worker.cli"], tmp_path / "lane") as arena:
        yield arena
