"""The life of one training: upstream's agent on monitored environments, in this process."""

from __future__ import annotations

from contextlib import ExitStack, closing, suppress
from typing import Any, Mapping

from mosaic_contract import Cancelled, Telemetry
from mosaic_contract.fastlane import TrainingFrames

from .checkpoints import checkpoints_of, restore
from .config import XuancePlan
from .factory import make_training_agent
from .telemetry import XuanceLogger
from .training_environments import TrainingContext


def train(plan: XuancePlan, telemetry: Telemetry) -> Mapping[str, Any]:
    """Train to the end and return the final metrics. After a signal, training ends with a checkpoint."""
    config = plan.config
    with ExitStack() as stack:
        frames = TrainingFrames(config.env_id, config.run_dir, config.fastlane, plan.parallels)
        stack.callback(frames.close)
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
            while (left := (plan.steps - agent.current_step) // plan.parallels) > 0:
                agent.train(min(left, max(1, config.checkpoint_every // plan.parallels)))
                checkpoints.save(int(agent.current_step))
        checkpoints.save(int(agent.current_step))
    return logger.final_metrics
