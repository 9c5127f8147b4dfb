"""What happens in batches of environments, turned into telemetry.

Crosses the boundary: metrics under upstream's names and ours, episodes. Where more episodes end at once than
anybody reads, the first of them are told, and all are counted.
"""

from __future__ import annotations

import time
from typing import Any, Iterable, Mapping

import numpy as np
from mosaic_contract.episode_logger import Journal
from mosaic_contract.losses import with_losses

from .episode_statistics import FIELDS, LENGTH, FinishedEpisode, finished_episodes

LOSSES = {
    "policy_loss": ["policy_loss", "train/policy_gradient_loss"],
    "value_loss": ["critic_loss", "train/value_loss"],
}
_EPISODES = 32  # told of one update
_UPDATE_STEPS = 250  # from one update that is told to the next, where updates are small


class Teller:
    """Tells a journal what batches of `count` environments did."""

    def __init__(self, journal: Journal, count: int) -> None:
        self._journal = journal
        self._count = count
        self._began = [time.monotonic()] * count
        self._last_sent = journal.steps - _UPDATE_STEPS

    def stepped(self, episodes: Iterable[FinishedEpisode]) -> None:
        """All environments have just made a step, and these episodes ended with it."""
        self._step()
        now = time.monotonic()
        for episode in episodes:
            self._episode(episode, now - self._began[episode.environment])
            self._began[episode.environment] = now

    def updated(self, metrics: Mapping[str, Any], seconds: float, *, last: bool) -> None:
        """An update of A2C is done, which took `seconds`. Some of its metrics are a number for each step of
        each environment.

        One program takes all of its steps, so nobody sees when an episode begins or ends: it is said to have
        taken its length times the seconds of a step of the update that it ended in, learning included, and
        in the first also compiling.
        The last update is told in any case.
        """
        each = {name: np.asarray(metrics[name]) for name in FIELDS}
        steps = len(each[LENGTH])
        left = _EPISODES
        for step in range(steps):
            self._step()
            over = finished_episodes({name: array[step] for name, array in each.items()})
            for episode in over[:left]:
                self._episode(episode, episode.length * seconds / steps)
            self._journal.telemetry.episodes += len(over[left:])
            left = max(0, left - len(over))
        if last or self._journal.steps - self._last_sent >= _UPDATE_STEPS:
            self._last_sent = self._journal.steps
            values = {name: float(np.mean(value)) for name, value in metrics.items() if name not in each}
            self._journal.metrics(with_losses(values, LOSSES))

    def _step(self) -> None:
        self._journal.steps += self._count - 1
        self._journal.step()

    def _episode(self, episode: FinishedEpisode, seconds: float) -> None:
        self._journal.episode(
            episode.total,
            episode.length,
            terminated=episode.terminated,
            truncated=not episode.terminated,
            seconds=seconds,
            environment=episode.environment,
        )
