"""Telemetry from upstream's trainer.

Metrics keep upstream's names (`update/…`, `training/…`, `test/…`), and are also written to TensorBoard files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

from mosaic_contract.episode_logger import EpisodeLogger, with_losses
from tianshou.utils import TensorboardLogger
from torch.utils.tensorboard import SummaryWriter

LOSSES = {
    "policy_loss": ["update/actor_loss", "update/actor_loss/mean"],
    "value_loss": [
        "update/critic*_loss",
        "update/vf_loss/mean",
        "update/q_loss",
        "update/qr_loss",
        "update/loss",  # of DQN and similar algorithms, which have no other
    ],
}
_OFF_POLICY_STEPS = 250  # between updates with reported metrics


class TianshouLogger(TensorboardLogger):
    """Upstream's logger, with the same names, at the steps of the run's logger. Its `info` at the end of
    epochs, best scores and times, is dropped."""

    def __init__(self, logger: EpisodeLogger, folder: Path, *, on_policy: bool, collection: int) -> None:
        steps = 1 if on_policy else _OFF_POLICY_STEPS
        super().__init__(
            SummaryWriter(str(folder)),
            training_interval=steps,
            update_interval=max(1, steps // collection),  # counted in collections
            write_flush=False,
        )
        self._logger = logger

    def write(self, step_type: str, step: int, data: dict[str, Any]) -> None:
        scope = step_type.partition("/")[0]
        if scope == "info":
            return
        values = self._logger.telemetry.numbers({scope: data})
        self._logger.metrics(with_losses(values, LOSSES))
        self._logger.scalars(self.writer, values)


class GradientLog(TianshouLogger):
    """The logger of a training with gradient steps; calls `after` for each."""

    def __init__(self, logger: EpisodeLogger, folder: Path, after: Callable[[], None]) -> None:
        super().__init__(logger, folder, on_policy=False, collection=1)
        self._after = after

    def log_update_data(self, log_data: dict[str, Any], step: int) -> None:
        self._after()
        super().log_update_data(log_data, step)
