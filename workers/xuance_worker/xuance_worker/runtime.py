"""The life of one training: upstream's agent on monitored environments, in this process.

Metrics keep upstream's names (`agent_0/actor_loss`, `Train-Results/…`), and are also written to TensorBoard
files, through upstream's own writer.
"""

from __future__ import annotations

from contextlib import ExitStack, closing, suppress
from typing import Any, Mapping

from mosaic_contract import Cancelled, Telemetry
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.fastlane import TrainingFrames

from .checkpoints import checkpoints_of, restore
from .config import XuancePlan
from .factory import make_training_agent
from .training_environments import TrainingContext

LOSSES = {  # the first that is reported
    "policy_loss": ["actor_loss", "*/actor_loss", "*/loss_actor", "Ploss", "actor-loss", "pg_loss"],
    "value_loss": [
        "critic_loss", "*/critic_loss", "*/loss_critic", "Qloss", "loss_Q", "*/loss_Q", "critic-loss",
        "vf_loss", "loss_Qmix", "loss_td",
    ],
}  # fmt: skip
_UPDATE_STEPS = 250  # between updates with reported metrics, if updates follow within a few steps


def train(plan: XuancePlan, telemetry: Telemetry) -> Mapping[str, Any]:
    """Train to the end and return the final metrics. After a signal, training ends with a checkpoint."""
    config = plan.config
    with ExitStack() as stack:
        frames = stack.enter_context(TrainingFrames.of(config, plan.environments))
        logger = XuanceLogger(telemetry, plan.start_step, on_policy=plan.algorithm.on_policy)
        agent = make_training_agent(plan, TrainingContext(plan, logger, frames))
        stack.callback(agent.train_envs.close)
        logger.writer = stack.enter_context(closing(agent.writer))
        agent.log_infos = logger.infos
        if plan.resume_from:
            restore(agent, plan.resume_from[0], plan.start_step)
            plan.report_resume(telemetry, "torch")
        checkpoints = checkpoints_of(plan, agent, logger)
        with suppress(Cancelled):
            between_checkpoints = max(1, config.checkpoint_every // plan.environments)
            while (remaining := (plan.steps - agent.current_step) // plan.environments) > 0:
                agent.train(min(remaining, between_checkpoints))
                checkpoints.save(int(agent.current_step))
        checkpoints.save(int(agent.current_step))
    return logger.final_metrics


class XuanceLogger(EpisodeLogger):
    """The logger for upstream's agents. `writer` is upstream's, once it exists."""

    def __init__(self, telemetry: Telemetry, steps: int, *, on_policy: bool) -> None:
        super().__init__(telemetry, steps, LOSSES)
        self.writer: Any = None
        self._min_interval = 0 if on_policy else _UPDATE_STEPS
        self._last_sent = steps - _UPDATE_STEPS

    def infos(self, info: Mapping[str, Any], step: int) -> None:
        """Send the values that upstream logs. Replaces `log_infos` of its agents, whose bare `except:` would
        swallow a signal."""
        values = self.telemetry.numbers({name: value for name, value in info.items() if value is not None})
        if not any("Episode" in name for name in values):
            if not any("loss" in name.lower() for name in values):
                return  # COMA logs its epsilon at every step
            if self.steps - self._last_sent < self._min_interval:
                return
            self._last_sent = self.steps
        self.library_metrics(values, self.writer, step)
