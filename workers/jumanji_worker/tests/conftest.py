"""Trainings with the real upstream, each in its own process, shared by the tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from shim_kit.fixtures import training_worker_fixture
from shim_kit.training_worker import SECONDS

_NETWORK = {
    "transformer_num_blocks": 1,
    "transformer_num_heads": 1,
    "transformer_key_size": 4,
    "transformer_mlp_units": [8],
}
SMALL: dict[str, dict[str, Any]] = {  # 20-step episodes, two per update; networks that compile fast
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

worker = training_worker_fixture("jumanji", SMALL, {"env_id": "TSP-v1"})  # compiles fastest


@pytest.fixture(scope="session", autouse=True)
def arenas_may_compile() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arenas.arena_lane.SECONDS", SECONDS)
        yield
