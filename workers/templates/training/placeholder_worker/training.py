"""A training: `resolve` checks its configuration, `train` runs it."""

from __future__ import annotations

import functools
import io
from typing import Any, Callable, Iterator

import numpy
from mosaic_contract import Telemetry, TrainingConfig, check_hyperparameters, registry
from mosaic_contract.checked_environment import make_for_training
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.environment_check import probe
from mosaic_contract.environment_spec import DISCRETE, EnvironmentSpec
from mosaic_contract.episode_logger import EpisodeLogger, TrainingEpisode
from mosaic_contract.fastlane import TrainingFrames
from mosaic_contract.messages import ALONE
from mosaic_contract.training_plan import check_algorithm

from .algorithms import ALGORITHMS

FORMAT = "mosaic-placeholder/1"
"""Format of the checkpoints, by which `mosaic.operators.rl(run)` finds the worker."""


def resolve(config: TrainingConfig) -> dict[str, Any]:
    """Return the configuration with every default filled in. Raises `ConfigError` with all problems."""
    check_algorithm(config.algorithm, ALGORITHMS)
    problems = list(_problems(config))
    parameters = ALGORITHMS[config.algorithm]
    return config.to_dict(check_hyperparameters(config.hyperparameters, parameters, problems))


def _problems(config: TrainingConfig) -> Iterator[str]:
    # FILL IN: refuse whatever the library does not support, before anything starts.
    if config.checkpoint.resume_from is not None:
        yield "this worker cannot resume from a checkpoint: leave checkpoint.resume_from out"
    spec = spec_of(config.env_id)
    yield from spec.observation_problems(config.algorithm)
    yield from spec.action_problems(config.algorithm, {config.algorithm: [DISCRETE]})


def spec_of(env_id: str) -> EnvironmentSpec:
    """Check an environment and return its spaces. Raises `ConfigError`."""
    env, _ = probe(env_id, functools.partial(registry.make, env_id))
    spec: EnvironmentSpec = EnvironmentSpec.of(env_id, env)
    return spec


def train(config: TrainingConfig, telemetry: Telemetry) -> dict[str, float]:
    """Train to the end of the episode that contains the last step; return the final metrics. A request to
    stop can raise `Cancelled` at any line."""
    with TrainingFrames.of(config, environments=1) as frames:
        return _train(config, telemetry, frames)


def _train(config: TrainingConfig, telemetry: Telemetry, frames: TrainingFrames) -> dict[str, float]:
    env = frames.make(functools.partial(make_for_training, config.env_id))
    logger = EpisodeLogger(telemetry)
    episode = TrainingEpisode(env, 0, logger, frames)
    search = Search(config, env)
    description = {
        "format": FORMAT,
        "hyperparameters": config.hyperparameters,
        **spec_of(config.env_id).describe_spaces(),
    }
    checkpoints = Checkpoints(config, logger, description, search.weights, suffix=".npy", format="npy")
    env.reset(seed=config.seed)  # later episodes continue this seed's random stream
    try:
        while logger.steps < config.end_step:
            search.improve(lambda weights: play(env, weights, episode))
            logger.metrics({"best_return": search.best_return})
            if checkpoints.due(logger.steps):
                checkpoints.save(logger.steps)
    finally:
        checkpoints.save(logger.steps)
        env.close()
    return logger.final_metrics


# FILL IN: replace the following by the library. Call the episode's `begin` and `step` from its hooks;
# if it has none and only reports results, call the logger's `episode` and `metrics`.


class Search:
    """Random search over the weights (observations, actions) of a linear policy. `best` are the best weights
    so far, `best_return` is their mean return."""

    def __init__(self, config: TrainingConfig, env: Any) -> None:
        self._noise = config.hyperparameters["noise"]
        self._tries = config.hyperparameters["episodes_per_try"]
        self._generator = numpy.random.default_rng(config.seed)
        self.best = numpy.zeros((env.observation_space.shape[0], int(env.action_space.n)))
        self.best_return = -numpy.inf

    def improve(self, evaluate: Callable[[Any], float]) -> None:
        """Try one change. `evaluate` plays an episode with weights and returns its return."""
        weights = self.best + self._noise * self._generator.normal(size=self.best.shape)
        mean = float(numpy.mean([evaluate(weights) for _ in range(self._tries)]))
        if mean >= self.best_return:
            self.best, self.best_return = weights, mean

    def weights(self) -> bytes:
        """Return the best weights as the bytes of a file."""
        file = io.BytesIO()
        numpy.save(file, self.best)
        return file.getvalue()


def play(env: Any, weights: Any, episode: TrainingEpisode) -> float:
    """Play an episode, log and show it, and return its return."""
    observation, _ = env.reset()
    episode.begin()
    terminated = truncated = False
    while not (terminated or truncated):
        action = int((observation @ weights).argmax())
        observation, reward, terminated, truncated, _ = env.step(action)
        episode.step({ALONE: float(reward)}, terminated=terminated, truncated=truncated)
    return episode.total
