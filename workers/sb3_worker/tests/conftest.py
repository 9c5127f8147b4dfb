"""Trainings with the real upstream, each in its own process, shared by the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shim_kit.fixtures import training_worker_fixture

NARROW = {"net_arch": [16, 16]}
_CARTPOLE = {"env_id": "CartPole-v1", "num_envs": 2, "total_timesteps": 400}
_PENDULUM = {"env_id": "Pendulum-v1", "num_envs": 2, "total_timesteps": 840}
_ROLLOUTS = {"n_steps": 100, "batch_size": 50, "n_epochs": 2}
_REPLAY = {"learning_starts": 100, "batch_size": 16, "buffer_size": 1000}
SMALL: dict[str, dict[str, Any]] = {  # long enough for updates and some episodes
    "ppo": {**_CARTPOLE, **_ROLLOUTS},
    "a2c": {**_CARTPOLE, "n_steps": 10, "use_sde": True, "env_id": "Pendulum-v1", "total_timesteps": 800},
    "dqn": {**_CARTPOLE, **_REPLAY},
    "sac": {**_PENDULUM, **_REPLAY, "train_freq": 4},
    "td3": {**_PENDULUM, **_REPLAY, "train_freq": 4, "action_noise": 0.1},
    "ddpg": {**_PENDULUM, **_REPLAY, "train_freq": 4},
    "recurrent_ppo": {**_CARTPOLE, **_ROLLOUTS, "lstm_hidden_size": 8},
    "maskable_ppo": {**_CARTPOLE, **_ROLLOUTS, "env_id": "masked_walk:MaskedWalk-v0"},
    "trpo": {**_PENDULUM, "n_steps": 200, "total_timesteps": 800},
    "tqc": {**_PENDULUM, **_REPLAY, "train_freq": 4, "n_quantiles": 5},
    "qrdqn": {**_CARTPOLE, **_REPLAY, "n_quantiles": 10},
    "ars": {"env_id": "CartPole-v1", "total_timesteps": 400, "n_delta": 2, "net_arch": None},
}


@pytest.fixture(scope="session", autouse=True)
def own_environments() -> Any:
    """Let the worker import the environments beside this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        yield


worker = training_worker_fixture("sb3", SMALL, NARROW)
