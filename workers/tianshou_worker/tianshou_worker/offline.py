"""Learning from a recorded dataset: upstream's offline trainer, which steps environments to evaluate only."""

from __future__ import annotations

from contextlib import ExitStack

from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.episode_logger import EpisodeLogger
from tianshou.algorithm.algorithm_base import Algorithm
from tianshou.data import Batch, Collector, ReplayBuffer
from tianshou.trainer import OfflineTrainerParams

from .config import TianshouPlan
from .datasets import Dataset
from .telemetry import GradientLog
from .training_environments import environments


def buffer_of(dataset: Dataset, seed: int) -> ReplayBuffer:
    """Upstream's buffer of the dataset's own arrays, which are not copied. It samples by this seed."""
    arrays = dataset.arrays
    count = len(arrays["rew"])
    buffer = ReplayBuffer(count, random_seed=seed)
    buffer.set_batch(Batch(**arrays, done=arrays["terminated"] | arrays["truncated"]))
    # What upstream's from_data leaves undone: its counts take the first transition for an end.
    buffer.last_index[0], buffer._size = count - 1, count
    return buffer


def learn_offline(
    buffer: ReplayBuffer,
    plan: TianshouPlan,
    algorithm: Algorithm,
    logger: EpisodeLogger,
    checkpoints: Checkpoints,
) -> None:
    """Take the plan's gradient steps, with an evaluation at the beginning and after every epoch."""
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
