"""Telemetry from upstream's results after each of its iterations.

Metrics under upstream's names (`learners/default_policy/policy_loss`, `env_runners/episode_return_mean`),
also written to TensorBoard files, and under ours; episodes of each agent.
"""

from __future__ import annotations

import json
import logging
import math
import time
from typing import Any, Iterator, Mapping

from mosaic_contract import Telemetry
from mosaic_contract.episode_logger import EpisodeLogger, with_losses
from mosaic_contract.messages import ALONE
from tensorboardX import SummaryWriter

from .config import RllibPlan
from .runners import EPISODES

LOSSES = {
    "policy_loss": ["learners/*/policy_loss", "learners/*/mean_pi_loss"],
    "value_loss": ["learners/*/mean_vf_loss", "learners/*/vf_loss", "learners/*/qf_*loss"],
}
_REPORTED = ("env_runners", "learners", "fault_tolerance", "timers")
_HIDDEN = ("connector", "throughput")  # parts of names: upstream's pipelines have thirty timers

log = logging.getLogger(__name__)


class RllibLogger(EpisodeLogger):
    """A logger of upstream's results."""

    def __init__(self, telemetry: Telemetry, plan: RllibPlan) -> None:
        super().__init__(telemetry, plan.start_step)
        self._start = plan.start_step
        self._runners = self._healthy = plan.runners
        self._per_runner = plan.hyperparameters["num_envs_per_env_runner"]
        self._writer = SummaryWriter(logdir=str(plan.config.tensorboard_dir))
        self.close = self._writer.close
        self._reported_at = time.monotonic()

    def result(self, result: Mapping[str, Any]) -> None:
        """Log the result of an iteration."""
        sampled = dict(result.get("env_runners", {}))
        episodes = sampled.pop(EPISODES, [])
        if isinstance(episodes, str):  # upstream unpacks a list of one
            episodes = [episodes]
        steps = self.steps + _int(sampled.get("num_env_steps_sampled"))
        for episode in map(json.loads, episodes):
            self._send_episode(episode, steps)
        now = time.monotonic()
        self.rate = (steps - self.steps) / max(now - self._reported_at, 1e-9)
        self.steps, self._reported_at = steps, now
        reported = {name: result[name] for name in _REPORTED if name in result}
        values = dict(_flat({**reported, "env_runners": sampled}))
        self.metrics({**with_losses(values, LOSSES), "steps_per_second": round(self.rate, 1)})
        self.scalars(self._writer, values)
        self._log_lost_runners(values)

    def _send_episode(self, episode: Mapping[str, Any], last_step: int) -> None:
        """Log an episode. If this process has the environments, the step at its end is known; otherwise the
        step at which it was reported is used."""
        previous_steps = self.steps
        self.steps = last_step if self._runners else min(last_step, self._start + episode["steps"])
        returns = episode["returns"]
        self.episode(
            returns[ALONE] if list(returns) == [ALONE] else returns,
            episode["length"],
            terminated=episode["terminated"],
            truncated=episode["truncated"],
            seconds=episode["seconds"],
            environment=max(0, episode["runner"] - 1) * self._per_runner + episode["environment"],
        )
        self.steps = previous_steps

    def _log_lost_runners(self, values: Mapping[str, float]) -> None:
        """Log lost and restarted runners."""
        healthy = int(values.get("fault_tolerance/num_healthy_workers", self._healthy))
        if healthy < self._healthy:
            log.warning("%d of %d runners are left; the training continues", healthy, self._runners)
        elif healthy > self._healthy:
            log.info("%d of %d runners are at work again", healthy, self._runners)
        self._healthy = healthy


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        if any(part in name for part in _HIDDEN):
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}/")
        elif getattr(value, "ndim", 0) == 0 and not isinstance(value, (str, bytes, list, tuple, type(None))):
            number = float(value)
            if math.isfinite(number):
                yield f"{prefix}{name}", number


def _int(value: Any) -> int:
    return int(value) if value is not None and math.isfinite(value) else 0
