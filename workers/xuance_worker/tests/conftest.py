"""Trainings with the real upstream, each in its own process, shared by the tests."""

from __future__ import annotations

from typing import Any

from shim_kit.fixtures import training_worker_fixture

SMALL: dict[str, dict[str, Any]] = {  # one per family, long enough for updates and some episodes
    "mappo": {"env_id": "simple_spread_v3", "total_timesteps": 800, "parallels": 4},
    "qmix": {"env_id": "simple_spread_v3", "total_timesteps": 800, "parallels": 5, "start_training": 100},
    "coma": {"env_id": "simple_spread_v3", "total_timesteps": 800, "parallels": 4, "buffer_size": 400},
    "maddpg": {"env_id": "simple_spread_v3", "total_timesteps": 800, "parallels": 5, "start_training": 100},
    "dqn": {"env_id": "CartPole-v1", "total_timesteps": 600, "parallels": 5, "start_training": 100},
}

worker = training_worker_fixture("xuance", SMALL)
