"""Telemetry of batches of environments: metrics under upstream's names and the common ones, and episodes.

Of the episodes that end in one update, the first are sent and all are counted.
"""

from __future__ import annotations

import time
from typing import Any, Iterable, Mapping

import numpy as np
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.losses import with_losses

from .episode_statistics import FIELDS, LENGTH, FinishedEpisode, finished_episodes

LOSSES = {
    "policy_loss": ["policy_loss", "train/policy_gradient_loss"],
    "value_loss": ["critic_loss", "train/value_loss"],
}
_EPISODES = 32  # sent of one update
_UPDATE_STEPS = 250  # from one update whose metrics are sent to the next, where updates are small


class BatchReporter:
    """Reports the steps, episodes and metrics of a batch of `count` environments."""

    def __init__(self, logger: EpisodeLogger, count: int) -> None:
        self._logger = logger
        self._count = count
        self._began = [time.monotonic()] * count
        self._last_sent = logger.steps - _UPDATE_STEPS

    def stepped(self, episodes: Iterable[FinishedEpisode]) -> None:
        """Report a step of all environments, and the episodes that ended with it."""
        self._step()
        now = time.monotonic()
        for episode in episodes:
            self._episode(episode, now - self._began[episode.environment])
            self._began[episode.environment] = now

    def updated(self, metrics: Mapping[str, Any], seconds: float, *, last: bool) -> None:
        """Report an update of A2C, which took `seconds`. Some of its metrics are a number for each step of
        each environment.

        One program takes all of its steps, so the times at which episodes begin and end are not known: an
        episode's duration is its length times the mean seconds of a step of the update that it ended in,
        learning included, and compiling too in the first. The last update's metrics are always sent.
        """
        each = {name: np.asarray(metrics[name]) for name in FIELDS}
        steps = len(each[LENGTH])
        remaining = _EPISODES
        for step in range(steps):
            self._step()
            over = finished_episodes({name: array[step] for name, array in each.items()})
            for episode in over[:remaining]:
                self._episode(episode, episode.length * seconds / steps)
            self._logger.telemetry.episodes += len(over[remaining:])
            remaining = max(0, remaining - len(over))
        if last or self._logger.steps - self._last_sent >= _UPDATE_STEPS:
            self._last_sent = self._logger.steps
            values = {name: float(np.mean(value)) for name, value in metrics.items() if name not in each}
            self._logger.metrics(with_losses(values, LOSSES))

    def _step(self) -> None:
        self._logger.steps += self._count - 1
        self._logger.step()

    def _episode(self, episode: FinishedEpisode, seconds: float) -> None:
        self._logger.episode(
            episode.total,
            episode.length,
            terminated=episode.terminated,
            truncated=not episode.terminated,
            seconds=seconds,
            environment=episode.environment,
        )
