"""The life of one training: upstream's `learn` on monitored environments, in this process. Metrics keep the
names of upstream's logs, and are also written to TensorBoard files."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator, Mapping

from mosaic_contract import Cancelled, Telemetry
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.pytorch import torch_device
from mosaic_contract.signals import signals_held
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger, TensorBoardOutputFormat

from .algorithms import OFF_POLICY
from .checkpoints import checkpoints_of, restore
from .config import Sb3Plan
from .factory import make_model
from .training_environments import environments

LOSSES = {
    "policy_loss": ["train/policy_gradient_loss", "train/policy_loss", "train/actor_loss"],
    "value_loss": [
        "train/value_loss",
        "train/critic_loss",
        "train/loss",  # of DQN and QR-DQN, which have no other
    ],
}


def train(plan: Sb3Plan, telemetry: Telemetry) -> Mapping[str, Any]:
    """Train to the end and return the final metrics. After a signal, training ends with a checkpoint."""
    config = plan.config
    device = torch_device(plan.hyperparameters["device"])
    logger = EpisodeLogger(telemetry, plan.start_step, LOSSES)
    with ExitStack() as stack:
        envs = stack.enter_context(environments(config, plan.environments, logger))
        model = make_model(plan, envs, device)
        restore(plan, model)
        plan.report_resume(telemetry, "sb3")
        checkpoints = checkpoints_of(plan, model, logger)
        log = stack.enter_context(upstream_logger(logger, config.tensorboard_dir))
        model.set_logger(log)
        with suppress(Cancelled):
            _learn(plan, model, Sb3Callback(logger, checkpoints, config.end_step))
            log.dump(logger.steps)  # values logged after upstream's last dump
        checkpoints.save(logger.steps)
    return logger.final_metrics


def _learn(plan: Sb3Plan, model: BaseAlgorithm, watch: Sb3Callback) -> None:
    """Train to `end_step`; schedules extend to `total_timesteps`."""
    # Upstream logs at the end of every fourth episode, which takes minutes for long episodes.
    often = {"log_interval": 1} if plan.algorithm.family == OFF_POLICY else {}
    with suppress(Ended):
        model.learn(plan.config.total_timesteps - plan.start_step, watch, reset_num_timesteps=False, **often)


@contextmanager
def upstream_logger(logger: EpisodeLogger, folder: Path) -> Iterator[Logger]:
    """Make upstream's logger, which forwards to the run's. It is closed at the end."""
    upstream_logger = Logger(str(folder), [_Metrics(logger), _TensorBoard(str(folder))])
    try:
        yield upstream_logger
    finally:
        upstream_logger.close()


class _Metrics(KVWriter):
    def __init__(self, logger: EpisodeLogger) -> None:
        self._logger = logger

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        self._logger.library_metrics(key_values)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class _TensorBoard(TensorBoardOutputFormat):
    """A writer that holds signals while it writes: an interruption could leave its queue locked."""

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        with signals_held():
            super().write(key_values, key_excluded, step)


class Ended(Exception):
    """Raised in upstream's loop between two updates, if the training ends before its last step."""


class Sb3Callback(BaseCallback):
    """A callback between updates that saves due checkpoints, and raises `Ended` from `end_step` on."""

    def __init__(self, logger: EpisodeLogger, checkpoints: Checkpoints, end_step: int) -> None:
        super().__init__()
        self._run, self._checkpoints, self._end_step = logger, checkpoints, end_step

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self._end_step:
            raise Ended
        if self._checkpoints.due(self._run.steps):
            self._checkpoints.save(self._run.steps)

    def _on_step(self) -> bool:
        return True
