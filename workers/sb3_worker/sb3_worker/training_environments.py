"""The training environments, in a wrapper that reports episodes and sends frames."""

from __future__ import annotations

import functools
from contextlib import closing, contextmanager
from typing import Any, Iterator

import gymnasium
from mosaic_contract import TrainingConfig
from mosaic_contract.checked_environment import make_for_training
from mosaic_contract.environment_server.served import begin_steps
from mosaic_contract.episode_logger import EpisodeLogger, TrainingEpisode
from mosaic_contract.fastlane import TrainingFrames
from mosaic_contract.hyperparameters import env_kwargs_of
from mosaic_contract.messages import ALONE
from mosaic_contract.wrappers import wrap
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from .environments import mask_of


@contextmanager
def environments(config: TrainingConfig, count: int, logger: EpisodeLogger) -> Iterator[DummyVecEnv]:
    """Make `count` environments of the run, with frames; they are closed at the end."""
    keywords = env_kwargs_of(config.hyperparameters)
    make = functools.partial(make_for_training, config.env_id, config.wrappers, **keywords)
    with TrainingFrames.of(config, count) as frames:

        def make_one(index: int) -> gymnasium.Env[Any, Any]:
            env = frames.make(make)
            episode = TrainingEpisode(env, index, logger, frames)
            return wrap(Monitor(Sb3Environment(env, episode)), config.wrappers, config.env_id)

        makers = [functools.partial(make_one, index) for index in range(count)]
        with closing(Sb3Environments(makers)) as envs:
            yield envs


class Sb3Environments(DummyVecEnv):
    """The environments of a training. Served environments are stepped together."""

    def step_async(self, actions: Any) -> None:
        super().step_async(actions)
        begin_steps(self.envs, actions)


class Sb3Environment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One environment. MaskablePPO calls `action_masks`, which supports all forms of masks."""

    def __init__(self, env: gymnasium.Env[Any, Any], episode: TrainingEpisode) -> None:
        super().__init__(env)
        self._episode = episode
        self._info: dict[str, Any] = {}

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, self._info = self.env.reset(**options)
        self._episode.begin()
        return observation, self._info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, self._info = self.env.step(action)
        terminated, truncated = bool(terminated), bool(truncated)
        self._episode.step({ALONE: float(reward)}, terminated=terminated, truncated=truncated)
        return observation, float(reward), terminated, truncated, self._info

    def action_masks(self) -> Any:
        return mask_of(self.env, self._info)
