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
from tianshou.env import DummyVectorEnv

from .self_play import Player, SelfPlay, make_game


@contextmanager
def environments(
    config: TrainingConfig,
    count: int,
    logger: EpisodeLogger,
    *,
    counted: bool = True,
    opponent: Player | None = None,
) -> Iterator[DummyVectorEnv]:
    """Make `count` environments of the run, seeded, with frames; they are closed at the end.

    Steps of environments that are not `counted` do not count as training steps. With an `opponent`, the
    environments are turn-based games.
    """
    keywords = env_kwargs_of(config.hyperparameters)
    make = functools.partial(make_for_training, config.env_id, config.wrappers, **keywords)
    if opponent is not None:
        make = functools.partial(make_game, config.env_id, **keywords)
    with TrainingFrames.of(config, count) as frames:

        def make_one(index: int) -> Any:
            env = frames.make(make)
            if opponent is not None:
                return TrainingGame(SelfPlay(env, opponent), TrainingEpisode(env, index, logger, frames))
            episode = TrainingEpisode(env, index, logger, frames, counted=counted)
            return wrap(TianshouEnvironment(env, episode), config.wrappers, config.env_id)

        makers = [functools.partial(make_one, index) for index in range(count)]
        with closing(TianshouEnvironments(makers)) as envs:
            envs.seed(config.seed)
            yield envs


class TianshouEnvironments(DummyVectorEnv):
    """The environments of a training. Served environments are stepped together."""

    def step(self, action: Any, id: Any = None) -> Any:
        begin_steps([self.workers[index].env for index in self._wrap_id(id)], action)
        return super().step(action, id)


class TianshouEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One environment. Its infos are kept out of the replay buffer: upstream's algorithms do not use them,
    and the buffer cannot store infos with changing keys."""

    def __init__(self, env: gymnasium.Env[Any, Any], episode: TrainingEpisode) -> None:
        super().__init__(env)
        self._episode = episode

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, _ = self.env.reset(**options)
        self._episode.begin()
        return observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, _ = self.env.step(action)
        terminated, truncated = bool(terminated), bool(truncated)
        self._episode.step({ALONE: reward}, terminated=terminated, truncated=truncated)
        return observation, float(reward), terminated, truncated, {}


class TrainingGame(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One turn-based game; its episodes are reported for all players."""

    def __init__(self, env: SelfPlay, episode: TrainingEpisode) -> None:
        super().__init__(env)
        self._game, self._episode = env, episode

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**options)
        self._episode.begin(self._game.agents)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._episode.step(self._game.rewards, terminated=terminated, truncated=truncated)
        return observation, float(reward), terminated, truncated, info
