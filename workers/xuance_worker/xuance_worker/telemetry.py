"""Telemetry of what upstream's learners log.

Metrics keep upstream's names (`agent_0/actor_loss`, `Train-Results/…`), and also
go to TensorBoard files, through its own writer.
"""

from __future__ import annotations

from typing import Any, Mapping

from mosaic_contract import Telemetry
from mosaic_contract.episode_logger import EpisodeLogger, with_losses

LOSSES = {
    "policy_loss": ["actor_loss", "*/actor_loss", "*/loss_actor", "Ploss"],
    "value_loss": ["critic_loss", "*/critic_loss", "*/loss_critic", "Qloss", "loss_Q", "*/loss_Q"],
}
_UPDATE_STEPS = 250  # from one update whose metrics are sent to the next, where there is one every few steps


class XuanceLogger(EpisodeLogger):
    """A logger that upstream's agents write to. `writer` is upstream's, once there is one."""

    def __init__(self, telemetry: Telemetry, steps: int, *, on_policy: bool) -> None:
        super().__init__(telemetry, steps)
        self.writer: Any = None
        self._every = 0 if on_policy else _UPDATE_STEPS
        self._last_sent = steps - _UPDATE_STEPS

    def infos(self, info: Mapping[str, Any], step: int) -> None:
        """Send what upstream logs. Replaces `log_infos` of its agents, whose `except:` of everything would
        swallow a signal.
        """
        values = self.telemetry.numbers({name: value for name, value in info.items() if value is not None})
        if not any("Episode" in name for name in values):
            if not any("loss" in name.lower() for name in values):
                return  # COMA logs its epsilon at every step
            if self.steps - self._last_sent < self._every:
                return
            self._last_sent = self.steps
        self.metrics(with_losses(values, LOSSES))
        self.scalars(self.writer, values, step)
