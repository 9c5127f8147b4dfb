"""Progress of a training: steps, speed, episodes, and the library's metrics. `TrainingEpisode` is for shims
that step their environments in this process."""

from __future__ import annotations

import time
from collections import deque
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, Iterable, Mapping, Sequence, Union

from mosaic_contract.fastlane import TrainingFrames
from mosaic_contract.messages import ALONE
from mosaic_contract.signals import signals_held
from mosaic_contract.telemetry import Telemetry

_RECENT_EPISODES = 20
_SPEED_SECONDS = 1.0  # between two speed metrics
Losses = Mapping[str, Sequence[str]]
"""A library's names for its losses, by their common names: patterns of `fnmatch`, of which the first match is
used, ``{"policy_loss": ["*/actor_loss"], "value_loss": ["*/critic_loss", "*/td_loss"]}``."""
_NO_LOSSES: Losses = MappingProxyType({})


class EpisodeLogger:
    """Counter of steps and logger of episodes and metrics, for shims with environments in their own process.

    `steps` counts over all environments, starting at the step of a resumed checkpoint; `rate` is the latest
    speed in steps per second, None at first. `losses` are the library's names of its losses.
    """

    def __init__(self, telemetry: Telemetry, steps: int = 0, losses: Losses = _NO_LOSSES) -> None:
        self.telemetry = telemetry
        self.steps = steps
        self._losses = losses
        self.rate: float | None = None
        self._latest: dict[str, float] = {}
        self._returns: deque[float] = deque(maxlen=_RECENT_EPISODES)
        self._speed_time, self._speed_step = time.monotonic(), steps

    def step(self) -> None:
        """Count one step of one environment."""
        self.steps += 1
        self.telemetry.last_step = self.steps  # the process may end before the next metrics
        now = time.monotonic()
        if now - self._speed_time >= _SPEED_SECONDS:
            self.rate = (self.steps - self._speed_step) / (now - self._speed_time)
            self._speed_time, self._speed_step = now, self.steps
            self.metrics({"steps_per_second": round(self.rate, 1)})

    def episode(
        self,
        returns: Union[float, Mapping[str, float]],
        length: int,
        *,
        terminated: bool,
        truncated: bool,
        seconds: float,
        environment: int,
        seed: int | None = None,
    ) -> None:
        """Log an episode of the environment with this index.

        `returns` are the agents' returns, or the only agent's; the metric `episode_return` is their mean.
        `seconds` is its duration, `seed` the seed of its reset, if any.
        """
        by_agent = returns if isinstance(returns, Mapping) else {ALONE: returns}
        mean = sum(by_agent.values()) / len(by_agent)
        self._returns.append(mean)
        number = self.telemetry.episodes
        with signals_held():  # an episode is counted and written for all of its agents, or not at all
            for agent, total in by_agent.items():
                self.telemetry.episode(
                    total_reward=total,
                    steps=length,
                    episode_index=number,
                    terminated=terminated,
                    truncated=truncated,
                    episode_seed=seed,
                    duration_seconds=seconds,
                    agent_id=agent,
                    metadata={"environment": environment},
                    step=self.steps,
                )
        self.metrics({"episode_return": mean, "episode_length": float(length)})

    def metrics(self, values: Mapping[str, Any]) -> None:
        """Log metrics at the current step: the numbers among `values`."""
        self._latest.update(self.telemetry.metrics(self.steps, values))

    def library_metrics(self, values: Mapping[str, Any], writer: Any = None, step: int | None = None) -> None:
        """Log the library's metrics at the current step, with its losses also under their common names.

        With a `writer`, the metrics are also written for TensorBoard; see `scalars`.
        """
        numbers = self.telemetry.numbers(values)
        self.metrics(with_losses(numbers, self._losses))
        if writer is not None:
            self.scalars(writer, numbers, step)

    def scalars(self, writer: Any, values: Mapping[str, float], step: int | None = None) -> None:
        """Write metrics for TensorBoard at the current or another step; `writer` is a SummaryWriter.

        Signals are held meanwhile: an interruption could leave the writer's queue locked, and closing it
        would hang.
        """
        with signals_held():
            for name, value in values.items():
                writer.add_scalar(name, value, self.steps if step is None else step)

    @property
    def progress(self) -> dict[str, Any]:
        """The counts shown with a frame, the arguments of `TrainingFrames.publish`."""
        return {"episodes": self.telemetry.episodes, "steps": self.steps, "steps_per_second": self.rate}

    @property
    def mean_return(self) -> dict[str, float]:
        """The mean return of the last 20 episodes as a metric; empty before the first episode has ended."""
        returns = self._returns
        return {"mean_episode_return": sum(returns) / len(returns)} if returns else {}

    @property
    def final_metrics(self) -> dict[str, float]:
        """The steps, the mean return, and the latest value of each metric."""
        return {"steps": self.steps, **self.mean_return, **self._latest}


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
            self._frames.publish(**self._logger.progress)
        if terminated or truncated:
            self._logger.episode(
                self._totals,
                self._length,
                terminated=terminated,
                truncated=truncated,
                seconds=time.monotonic() - self._began,
                environment=self._index,
            )


def with_losses(values: Mapping[str, float], losses: Losses) -> dict[str, float]:
    """Return a library's metrics, with its losses also under the common names: `policy_loss` for the actor
    and `value_loss` for a critic or Q-function; the mean if there are several (agents, twin critics)."""
    named = dict(values)
    for name, patterns in losses.items():
        for pattern in patterns:
            matching = [value for key, value in values.items() if fnmatchcase(key, pattern)]
            if matching:
                named[name] = sum(matching) / len(matching)
                break
    return named
