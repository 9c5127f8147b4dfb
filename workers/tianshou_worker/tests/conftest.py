"""Trainings with the real upstream, each in its own process, shared by the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shim_kit.fixtures import training_worker_fixture
from shim_kit.training_worker import TrainingWorker

NARROW = {"hidden_sizes": [16, 16]}
_CARTPOLE = {"env_id": "CartPole-v1", "num_training_envs": 4}
_PENDULUM = {"env_id": "Pendulum-v1", "num_training_envs": 4}
SMALL: dict[str, dict[str, Any]] = {  # one per family, long enough for updates and some episodes
    "dqn": {
        **_CARTPOLE,
        "total_timesteps": 400,
        "start_timesteps": 100,
        "batch_size": 16,
        "save_buffer": True,
    },
    "c51": {**_CARTPOLE, "total_timesteps": 404, "start_timesteps": 100, "batch_size": 16},
    "ppo": {**_CARTPOLE, "total_timesteps": 400, "collection_step_num_env_steps": 200},
    "trpo": {**_CARTPOLE, "total_timesteps": 400, "collection_step_num_env_steps": 200},
    "sac": {**_PENDULUM, "total_timesteps": 840, "batch_size": 16, "save_buffer": True, "buffer_size": 600},
}
_EPOCHS = {"total_timesteps": 260, "epoch_num_steps": 130, "test_step_num_episodes": 2}
OFFLINE: dict[str, dict[str, Any]] = {  # on recordings of sac or dqn; gail also steps environments
    "il": {"env_id": "CartPole-v1", **_EPOCHS},
    "bcq": {"env_id": "Pendulum-v1", **_EPOCHS},
    "cql": {"env_id": "Pendulum-v1", **_EPOCHS},
    "discrete_cql": {"env_id": "CartPole-v1", **_EPOCHS, "num_quantiles": 20},
    "gail": {**_PENDULUM, "total_timesteps": 1600, "collection_step_num_env_steps": 800},
}


class TianshouWorker(TrainingWorker):
    """Runs offline trainings on the recordings of the small trainings."""

    offline = OFFLINE

    @property
    def dataset(self) -> Path:
        """The dataset recorded by the small SAC training."""
        return self._recorded("sac")

    def configuration(self, name: str) -> dict[str, Any]:
        if name in OFFLINE:
            dataset = self._recorded("dqn") if OFFLINE[name]["env_id"] == "CartPole-v1" else self.dataset
            return {"algorithm": name, "dataset": str(dataset), **OFFLINE[name]}
        return super().configuration(name)

    def _recorded(self, name: str) -> Path:
        return Path(self.trained(name).checkpoints[-1].parents[1] / "dataset.hdf5")


worker = training_worker_fixture("tianshou", SMALL, NARROW, TianshouWorker)
