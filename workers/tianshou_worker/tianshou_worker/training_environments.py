"""The environments that upstream trains on, in a wrapper that reports episodes and sends frames."""

from __future__ import annotations

import functools
import time
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Callable, Iterator

import gymnasium
from mosaic_contract import TrainingConfig
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.fastlane import TrainingFrames
from mosaic_contract.wrappers import wrap
from tianshou.env import DummyVectorEnv


@contextmanager
def environments(
    config: TrainingConfig, count: int, logger: EpisodeLogger, *, counted: bool = True
) -> Iterator[DummyVectorEnv]:
    """Make `count` environments of the run, seeded, with frames; they are closed at the end. Steps of those
    that are not `counted` are not steps of the training.
    """
    with ExitStack() as stack:
        frames = TrainingFrames(config.env_id, config.run_dir, config.fastlane, count)
        stack.callback(frames.close)
        make = functools.partial(gymnasium.make, config.env_id)
        step = logger.step if counted else lambda: None
        makers = [
            lambda index=i: wrap(
                TrainingEnvironment(frames.make(make), index, logger, step, frames),
                config.wrappers,
                config.env_id,
            )
            for i in range(count)
        ]
        envs = stack.enter_context(closing(DummyVectorEnv(makers)))
        envs.seed(config.seed)
        yield envs


class TrainingEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One environment. Its infos stay out of the replay buffer: upstream's algorithms do not use them, and
    it cannot hold those whose keys change.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        index: int,
        logger: EpisodeLogger,
        count: Callable[[], None],
        frames: TrainingFrames,
    ) -> None:
        super().__init__(env)
        self._index = index
        self._logger = logger
        self._count = count
        self._frames = frames
        self._publishes = frames.show(env, lambda: (self._reward, self._total))
        self._reward = self._total = 0.0
        self._length = 0
        self._began = time.monotonic()

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, _ = self.env.reset(**options)
        self._reward = self._total = 0.0
        self._length = 0
        self._began = time.monotonic()
        return observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, _ = self.env.step(action)
        self._reward = float(reward)
        self._total += self._reward
        self._length += 1
        logger = self._logger
        self._count()
        if self._publishes and self._frames.due():
            self._frames.publish(
                episodes=logger.telemetry.episodes, steps=logger.steps, steps_per_second=logger.rate
            )
        if terminated or truncated:
            logger.episode(
                self._total,
                self._length,
                terminated=bool(terminated),
                truncated=bool(truncated),
                seconds=time.monotonic() - self._began,
                environment=self._index,
            )
        return observation, self._reward, bool(terminated), bool(truncated), {}
