"""The current episode of one training environment, for shims that step environments in their own process."""

from __future__ import annotations

import time
from typing import Any, Iterable, Mapping

from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.fastlane import TrainingFrames
from mosaic_contract.messages import ALONE


class TrainingEpisode:
    """Counter of an environment's steps, which also shows them and logs each finished episode.

    `index` is the environment's number in the training. Steps that are not `counted` do not count as training
    steps. `reward` and `total` are the latest reward and the return so far, averaged over agents.
    """

    def __init__(
        self, env: Any, index: int, logger: EpisodeLogger, frames: TrainingFrames, *, counted: bool = True
    ) -> None:
        self._index = index
        self._logger, self._frames, self._counted = logger, frames, counted
        self._publishes = frames.show(env, lambda: (self.reward, self.total))
        self.reward = 0.0
        self.begin([])

    @property
    def total(self) -> float:
        return sum(self._totals.values()) / len(self._totals) if self._totals else 0.0

    def begin(self, agents: Iterable[str] = (ALONE,)) -> None:
        """Begin an episode. Call it after the environment's `reset`."""
        self._totals = dict.fromkeys(agents, 0.0)
        self._length = 0
        self._began = time.monotonic()

    def step(self, rewards: Mapping[str, float], *, terminated: bool, truncated: bool) -> None:
        """Record a step, with the reward of each agent."""
        for agent in self._totals:
            self._totals[agent] += float(rewards[agent])
        self.reward = sum(map(float, rewards.values())) / len(rewards)
        self._length += 1
        if self._counted:
            self._logger.step()
        if self._publishes and self._frames.due():
            self._frames.publish_progress(self._logger)
        if terminated or truncated:
            self._logger.episode(
                self._totals,
                self._length,
                terminated=terminated,
                truncated=truncated,
                seconds=time.monotonic() - self._began,
                environment=self._index,
            )
