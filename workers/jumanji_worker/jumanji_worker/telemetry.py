"""Telemetry of batches of environments: metrics under upstream's and the common names, and episodes.

Only the first of the episodes that end in one update are sent, but all are counted.
"""

from __future__ import annotations

import logging
import time
from typing import Any, Iterable, Mapping

import jax
import numpy as np
from mosaic_contract.episode_logger import EpisodeLogger

from .episode_statistics import FIELDS, LENGTH, FinishedEpisode, finished_episodes

LOSSES = {
    "policy_loss": ["policy_loss", "train/policy_gradient_loss"],
    "value_loss": ["critic_loss", "train/value_loss"],
}
_MAX_EPISODES = 32  # sent per update
_UPDATE_STEPS = 250  # between updates with reported metrics, for small updates
_EVENT = "/jax/core/compile/backend_compile_duration"  # per program, also if it was found in the cache

log = logging.getLogger(__name__)


class BatchReporter:
    """The reporter of steps, episodes and metrics of a batch of `count` environments."""

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
        """Report an update of A2C, which took `seconds`. Some of its metrics have one number for each step of
        each environment.

        One program takes all steps of an update, so the times at which episodes begin and end are unknown: an
        episode's duration is its length times the mean seconds per step of the update in which it ended,
        including learning, and in the first update also compilation. The last update's metrics are always
        sent.
        """
        per_step = {name: np.asarray(metrics[name]) for name in FIELDS}
        steps = len(per_step[LENGTH])
        remaining = _MAX_EPISODES
        for step in range(steps):
            self._step()
            finished = finished_episodes({name: array[step] for name, array in per_step.items()})
            for episode in finished[:remaining]:
                self._episode(episode, episode.length * seconds / steps)
            self._logger.telemetry.episodes += len(finished[remaining:])
            remaining = max(0, remaining - len(finished))
        if last or self._logger.steps - self._last_sent >= _UPDATE_STEPS:
            self._last_sent = self._logger.steps
            values = {name: float(np.mean(value)) for name, value in metrics.items() if name not in per_step}
            self._logger.library_metrics(values)

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


class CompileTime:
    """A logger of compilation: its start, and its duration after the first update."""

    def __init__(self) -> None:
        self._began, self._compiled, self._is_logged = time.monotonic(), 0.0, False
        jax.monitoring.register_event_duration_secs_listener(self._record_event)
        log.info("compiling the first update: this can take minutes, or seconds if it is cached")

    def updated(self) -> None:
        """Log the compile time after the first update."""
        if not self._is_logged:
            self._is_logged = True
            seconds = time.monotonic() - self._began
            log.info(
                "the first update is done after %.1f s, %.1f s of which XLA compiled", seconds, self._compiled
            )

    def _record_event(self, event: str, seconds: float, **_: Any) -> None:
        if event == _EVENT:
            self._compiled += seconds
