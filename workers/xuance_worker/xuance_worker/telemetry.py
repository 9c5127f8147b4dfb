"""Telemetry from upstream's learners.

Metrics keep upstream's names (`agent_0/actor_loss`, `Train-Results/…`), and are also written to TensorBoard
files, through upstream's own writer.
"""

from __future__ import annotations

from typing import Any, Mapping

from mosaic_contract import Telemetry
from mosaic_contract.episode_logger import EpisodeLogger, with_losses

LOSSES = {
    "policy_loss": ["actor_loss", "*/actor_loss", "*/loss_actor", "Ploss"],
    "value_loss": ["critic_loss", "*/critic_loss", "*/loss_critic", "Qloss", "loss_Q", "*/loss_Q"],
}
_UPDATE_STEPS = 250  # between updates with reported metrics, if updates follow within a few steps


class XuanceLogger(EpisodeLogger):
    """The logger for upstream's agents. `writer` is upstream's, once it exists."""

    def __init__(self, telemetry: Telemetry, steps: int, *, on_policy: bool) -> None:
        super().__init__(telemetry, steps)
        self.writer: Any = None
        self._every = 0 if on_policy else _UPDATE_STEPS
        self._last_sent = steps - _UPDATE_STEPS

    def infos(self, info: Mapping[str, Any], step: int) -> None:
        """Send the values that upstream logs. Replaces `log_infos` of its agents, whose bare `except:` would
        swallow a signal."""
        values = self.telemetry.numbers({name: value for name, value in info.items() if value is not None})
        if not any("Episode" in name for name in values):
            if not any("loss" in name.lower() for name in values):
                return  # COMA logs its epsilon at every step
            if self.steps - self._last_sent < self._every:
                return
            self._last_sent = self.steps
        self.metrics(with_losses(values, LOSSES))
        self.scalars(self.writer, values, step)
