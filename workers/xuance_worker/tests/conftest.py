"""Real trainings of the real upstream, each in its own process, shared by the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from operators.conversation import Conversation
from runs.training_worker import TrainingWorker, interpreter_of
from worker_fixtures import mosaic_home  # noqa: F401  (environments of a session live in a folder of its own)

SMALL: dict[str, dict[str, Any]] = {  # one of each family: enough to update its networks, and some episodes
    "mappo": {"env_id": "simple_spread_v3", "total_timesteps": 800, "parallels": 4},
    "qmix": {"env_id": "simple_spread_v3", "total_timesteps": 800, "parallels": 5, "start_training": 100},
    "coma": {"env_id": "simple_spread_v3", "total_timesteps": 800, "parallels": 4, "buffer_size": 400},
    "maddpg": {"env_id": "simple_spread_v3", "total_timesteps": 800, "parallels": 5, "start_training": 100},
    "dqn": {"env_id": "CartPole-v1", "total_timesteps": 600, "parallels": 5, "start_training": 100},
}


@pytest.fixture(scope="session")
def worker(mosaic_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrainingWorker]:  # noqa: F811
    with interpreter_of("xuance") as python:
        yield TrainingWorker("xuance_worker.cli", python, tmp_path_factory.mktemp("runs"), SMALL)


@pytest.fixture(scope="session")
def operators(worker: TrainingWorker) -> Iterator[Conversation]:
    """One process in which operators act."""
    with worker.operators() as talk:
        yield talk
