"""The life of one training: upstream's collector and trainer on monitored environments, in this process.

Metrics keep upstream's names (`update/…`, `training/…`, `test/…`), and are also written to TensorBoard files.
"""

from __future__ import annotations

import functools
import logging
import random
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Callable, Mapping

import numpy as np
import torch
from mosaic_contract import Cancelled, Telemetry
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.pytorch import torch_device
from tianshou.algorithm.algorithm_base import Algorithm, Policy
from tianshou.data import Batch, Collector, PrioritizedVectorReplayBuffer, ReplayBuffer, VectorReplayBuffer
from tianshou.trainer import OfflineTrainerParams, OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils import TensorboardLogger
from tianshou.utils.torch_utils import policy_within_training_step
from torch.utils.tensorboard import SummaryWriter

from .checkpoints import checkpoints_of, restore
from .config import TianshouPlan
from .datasets import Dataset, write_dataset
from .factory import make_algorithm
from .training_environments import environments

log = logging.getLogger(__name__)

_PRIORITIES = {"alpha": 0.6, "beta": 0.4}  # as in upstream's examples
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
IMITATION_LOSSES = {"policy_loss": ["update/loss"]}
_OFF_POLICY_STEPS = 250  # between updates with reported metrics


def train(plan: TianshouPlan, telemetry: Telemetry) -> Mapping[str, Any]:
    """Train to the end and return the final metrics. After a signal, training ends with a checkpoint."""
    config = plan.config
    values = plan.hyperparameters
    device = torch_device(values["device"])
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(config.seed)
    dataset = None if plan.dataset is None else buffer_of(plan.dataset, config.seed)
    with torch.device(device):  # some upstream algorithms create tensors that do not move with them
        algorithm = make_algorithm(
            config.algorithm, plan.spec.observation_space, plan.spec.action_space, values, dataset
        ).to(device)
    if plan.resume_from:
        restore(algorithm, plan.resume_from[0])
        plan.report_resume(telemetry, "torch")
    offline = plan.algorithm.offline
    buffer: Any = dataset if offline else _buffer(plan)
    learn = learn_offline if offline else _learn
    losses = IMITATION_LOSSES if plan.algorithm.name == "il" else LOSSES
    logger = EpisodeLogger(telemetry, plan.start_step, losses)
    checkpoints = checkpoints_of(plan, algorithm, logger)
    with suppress(Cancelled):
        learn(buffer, plan, algorithm, logger, checkpoints)
    checkpoints.save(logger.steps)
    if values.get("save_buffer") and len(buffer):
        _record(plan, buffer, logger)
    return logger.final_metrics


def _learn(
    buffer: ReplayBuffer,
    plan: TianshouPlan,
    algorithm: Algorithm,
    logger: EpisodeLogger,
    checkpoints: Checkpoints,
) -> None:
    config, on_policy = plan.config, plan.algorithm.on_policy
    with ExitStack() as stack:
        log = TianshouLogger(logger, config.tensorboard_dir, on_policy=on_policy, collection=plan.collection)
        stack.callback(log.finalize)
        opponent = functools.partial(_opponent_move, algorithm.policy) if plan.own_spec.several else None
        envs = stack.enter_context(environments(config, plan.environments, logger, opponent=opponent))
        collector = Collector(algorithm, envs, buffer, exploration_noise=not on_policy)
        collector.reset()
        _warm_up(plan, algorithm, collector)

        def before_each_update(epoch: int, env_step: int) -> None:
            if checkpoints.due(logger.steps):
                checkpoints.save(logger.steps)

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
        params_class = OnPolicyTrainerParams if on_policy else OffPolicyTrainerParams
        parameters = params_class(**common, **{name: plan.hyperparameters[name]})
        algorithm.create_trainer(parameters).run(reset_collectors=False)


def _opponent_move(policy: Policy, observation: Mapping[str, Any]) -> int:
    """Return the other player's move, chosen by the policy in training with the learner's exploration."""
    batch = Batch(obs=Batch({name: value[None] for name, value in observation.items()}), info={})
    with torch.no_grad(), policy_within_training_step(policy):
        return int(policy.add_exploration_noise(policy(batch).act, batch)[0])


def _buffer(plan: TianshouPlan) -> VectorReplayBuffer:
    """Return a replay buffer of the configured size; for on-policy algorithms, of one collection."""
    values, count = plan.hyperparameters, plan.environments
    if plan.algorithm.on_policy:
        return VectorReplayBuffer(plan.collection, count)
    # As in upstream's example: an LSTM learns from stacks, and the next observation is that of the next step.
    stacks = {"stack_num": values["stack_num"], "ignore_obs_next": True} if values.get("layer_num") else {}
    if values.get("prioritized_replay"):
        return PrioritizedVectorReplayBuffer(values["buffer_size"], count, **_PRIORITIES, **stacks)
    return VectorReplayBuffer(values["buffer_size"], count, **stacks)


def _warm_up(plan: TianshouPlan, algorithm: Algorithm, collector: Collector[Any]) -> None:
    """Fill the buffer before the first update: with random actions, or with the policy's own when resuming
    and in games, because not all moves are legal."""
    if plan.warm_up:
        at_random = plan.resume_from is None and not plan.own_spec.several
        with policy_within_training_step(algorithm.policy):
            collector.collect(n_step=plan.warm_up, random=at_random)


def _record(plan: TianshouPlan, buffer: ReplayBuffer, logger: EpisodeLogger) -> None:
    """Save the replay buffer as a dataset, with actions within the bounds of the environment."""
    if not hasattr(plan.spec.action_space, "n"):
        np.clip(buffer.act, -1, 1, out=buffer.act)
    description = {
        "algorithm": plan.algorithm.name,
        "env_id": plan.config.env_id,
        "seed": plan.config.seed,
        "step": logger.steps,
        **logger.mean_return,
        "wrappers": list(plan.config.wrappers),
        **plan.own_spec.describe_spaces(),
    }
    try:
        write_dataset(plan.config.run_dir / "dataset.hdf5", buffer, description)
    except OSError as error:  # a full disk loses the dataset, not the training
        log.warning("no dataset: %s", error)


def buffer_of(dataset: Dataset, seed: int) -> ReplayBuffer:
    """Return upstream's buffer with the dataset's arrays, without copying them. It samples by this seed."""
    count = len(dataset["rew"])
    buffer = ReplayBuffer(count, random_seed=seed)
    buffer.set_batch(Batch(**dataset, done=dataset["terminated"] | dataset["truncated"]))
    # Not done by upstream's from_data: its counts treat the first transition as an end.
    buffer.last_index[0], buffer._size = count - 1, count
    return buffer


def learn_offline(
    buffer: ReplayBuffer,
    plan: TianshouPlan,
    algorithm: Algorithm,
    logger: EpisodeLogger,
    checkpoints: Checkpoints,
) -> None:
    """Take the plan's gradient steps on a dataset, with an evaluation at the start and after every epoch."""
    episodes = plan.hyperparameters["test_step_num_episodes"]

    def after_each_step() -> None:
        logger.step()
        if checkpoints.due(logger.steps):
            checkpoints.save(logger.steps)

    with ExitStack() as stack:
        log = GradientLog(logger, plan.config.tensorboard_dir, after_each_step)
        stack.callback(log.finalize)
        evaluated = stack.enter_context(environments(plan.config, episodes, logger, counted=False))
        parameters = OfflineTrainerParams(
            buffer=buffer,
            test_collector=Collector(algorithm, evaluated),
            test_step_num_episodes=episodes,
            max_epochs=plan.updates,
            epoch_num_steps=plan.collection,
            batch_size=plan.hyperparameters["batch_size"],
            logger=log,
            verbose=False,
            show_progress=False,
        )
        algorithm.create_trainer(parameters).run()


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
        self._logger.library_metrics({scope: data}, self.writer)


class GradientLog(TianshouLogger):
    """The logger of a training with gradient steps; calls `after` for each."""

    def __init__(self, logger: EpisodeLogger, folder: Path, after_step: Callable[[], None]) -> None:
        super().__init__(logger, folder, on_policy=False, collection=1)
        self._after_step = after_step

    def log_update_data(self, log_data: dict[str, Any], step: int) -> None:
        self._after_step()
        super().log_update_data(log_data, step)
