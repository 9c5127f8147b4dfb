"""Telemetry from upstream's logs, under upstream's names, also written to TensorBoard files."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.episode_logger import EpisodeLogger, with_losses
from mosaic_contract.signals import signals_held
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger, TensorBoardOutputFormat

LOSSES = {
    "policy_loss": ["train/policy_gradient_loss", "train/policy_loss", "train/actor_loss"],
    "value_loss": [
        "train/value_loss",
        "train/critic_loss",
        "train/loss",  # of DQN and QR-DQN, which have no other
    ],
}


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
        values = self._logger.telemetry.numbers(key_values)
        self._logger.metrics(with_losses(values, LOSSES))

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
