"""The life of one training: upstream's `learn` on monitored environments, in this process."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Any, Mapping

from mosaic_contract import Cancelled, Telemetry
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.pytorch import torch_device
from stable_baselines3.common.base_class import BaseAlgorithm

from .algorithms import OFF_POLICY
from .checkpoints import checkpoints_of, restore
from .config import Sb3Plan
from .factory import make_model
from .telemetry import Ended, Sb3Callback, upstream_logger
from .training_environments import environments


def train(plan: Sb3Plan, telemetry: Telemetry) -> Mapping[str, Any]:
    """Train to the end and return the final metrics. After a signal, training ends with a checkpoint."""
    config = plan.config
    device = torch_device(plan.hyperparameters["device"])
    logger = EpisodeLogger(telemetry, plan.start_step)
    with ExitStack() as stack:
        count = plan.hyperparameters.get("num_envs", 1)
        envs = stack.enter_context(environments(config, count, logger))
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
