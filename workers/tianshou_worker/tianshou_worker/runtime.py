"""The life of one training: upstream's collector and trainer on watched environments, in this process."""

from __future__ import annotations

import functools
import random
from contextlib import ExitStack, closing, suppress
from typing import Any, Mapping

import gymnasium
import numpy as np
import torch
from mosaic_contract import Cancelled, Telemetry, TrainingConfig
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.fastlane import TrainingFrames
from mosaic_contract.journal import Journal
from tianshou.algorithm.algorithm_base import Algorithm
from tianshou.data import Collector, PrioritizedVectorReplayBuffer, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils.torch_utils import policy_within_training_step

from .building import make_algorithm
from .checkpoints import checkpoints_of, restore
from .config import Plan, make_plan
from .telemetry import Log
from .watching import Watched

_PRIORITIES = {"alpha": 0.6, "beta": 0.4}  # those of upstream's examples


def train(config: TrainingConfig, telemetry: Telemetry) -> Mapping[str, Any]:
    """Train to the end and return the final metrics. A signal ends it with a checkpoint."""
    plan = make_plan(config)
    values = plan.hyperparameters
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(config.seed)
    algorithm = make_algorithm(config.algorithm, plan.observation_space, plan.action_space, values)
    device = values["device"]
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    algorithm.to(device)
    if plan.resume_from:
        path, described = plan.resume_from
        restore(algorithm, path)
        telemetry.advance(plan.start_step)
        telemetry.checkpoint_loaded(path, step=plan.start_step, episode=described["episodes"], format="torch")
    journal = Journal(telemetry, plan.start_step)
    checkpoints = checkpoints_of(plan, algorithm, journal)
    with suppress(Cancelled):
        _learn(plan, algorithm, journal, checkpoints)
    checkpoints.save(journal.steps)
    return journal.final_metrics


def _learn(plan: Plan, algorithm: Algorithm, journal: Journal, checkpoints: Checkpoints) -> None:
    config, on_policy = plan.config, plan.algorithm.on_policy
    count = plan.hyperparameters["num_training_envs"]
    with ExitStack() as stack:
        frames = TrainingFrames(config.env_id, config.run_dir, config.fastlane, count)
        stack.callback(frames.close)
        log = Log(journal, config.tensorboard_dir, on_policy=on_policy, collection=plan.collection)
        stack.callback(log.finalize)
        make = functools.partial(gymnasium.make, config.env_id)
        makers = [lambda index=i: Watched(frames.make(make), index, journal, frames) for i in range(count)]
        envs = stack.enter_context(closing(DummyVectorEnv(makers)))
        envs.seed(config.seed)
        collector = Collector(algorithm, envs, _buffer(plan), exploration_noise=not on_policy)
        collector.reset()
        _warm_up(plan, algorithm, collector)

        def before_each_update(epoch: int, env_step: int) -> None:
            if checkpoints.due(journal.steps):
                checkpoints.save(journal.steps)

        common = {
            "training_collector": collector,
            "max_epochs": 1,
            "epoch_num_steps": plan.updates * plan.collection,
            "collection_step_num_env_steps": plan.collection,
            "batch_size": plan.hyperparameters["batch_size"],
            "training_fn": before_each_update,
            "logger": log,
            "verbose": False,
            "show_progress": False,
        }
        name = "update_step_num_repetitions" if on_policy else "update_step_num_gradient_steps_per_sample"
        kind = OnPolicyTrainerParams if on_policy else OffPolicyTrainerParams
        parameters = kind(**common, **{name: plan.hyperparameters[name]})
        algorithm.create_trainer(parameters).run(reset_collectors=False)


def _buffer(plan: Plan) -> VectorReplayBuffer:
    """As large as configured; of an on-policy algorithm as large as a collection, which it forgets."""
    values = plan.hyperparameters
    count = values["num_training_envs"]
    if plan.algorithm.on_policy:
        return VectorReplayBuffer(plan.collection, count)
    if values.get("prioritized_replay"):
        return PrioritizedVectorReplayBuffer(values["buffer_size"], count, **_PRIORITIES)
    return VectorReplayBuffer(values["buffer_size"], count)


def _warm_up(plan: Plan, algorithm: Algorithm, collector: Collector[Any]) -> None:
    """Fill the buffer before the first update: at random, or where a training goes on with its policy."""
    if plan.warm_up:
        with policy_within_training_step(algorithm.policy):
            collector.collect(n_step=plan.warm_up, random=plan.resume_from is None)
