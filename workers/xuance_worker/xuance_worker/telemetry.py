"""What happens in the environments and in upstream's learners, turned into telemetry.

Crosses the boundary: metrics under upstream's names (`agent_0/actor_loss`, `Train-Results/…`) and ours,
episodes of each agent. Upstream's names also go to TensorBoard files, through its own writer.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Iterator, Mapping

from mosaic_contract import Telemetry

_RECENT = 20  # episodes
_UPDATE_STEPS = 250  # from one update that is told to the next, where there is one every few steps


class Journal:
    """Counts and tells. `steps` counts those of all environments together, and begins where a resumed
    training goes on; `writer` is upstream's, once there is one.
    """

    def __init__(self, telemetry: Telemetry, steps: int, *, on_policy: bool) -> None:
        self.telemetry = telemetry
        self.steps = steps
        self.latest: dict[str, float] = {}
        self.rate: float | None = None
        self.writer: Any = None
        self._every = 0 if on_policy else _UPDATE_STEPS
        self._told = steps - _UPDATE_STEPS
        self._returns: deque[float] = deque(maxlen=_RECENT)
        self._since, self._counted = time.monotonic(), steps

    def step(self) -> None:
        """One step of one environment is done."""
        self.steps += 1
        now = time.monotonic()
        if now - self._since >= 1.0:
            self.rate = (self.steps - self._counted) / (now - self._since)
            self._since, self._counted = now, self.steps
            self.metrics({"steps_per_second": round(self.rate, 1)})

    def episode(
        self,
        totals: Mapping[str, float],
        length: int,
        *,
        terminated: bool,
        truncated: bool,
        seconds: float,
        index: int,
    ) -> None:
        """An episode of the environment with this index is over. `totals` are the agents' returns, of which
        `episode_return` is the mean, as in upstream's own results.
        """
        mean = sum(totals.values()) / len(totals)
        self._returns.append(mean)
        number = self.telemetry.episodes
        for agent, total in totals.items():
            self.telemetry.episode(
                total_reward=total,
                steps=length,
                episode_index=number,
                terminated=terminated,
                truncated=truncated,
                duration_seconds=seconds,
                agent_id=agent,
                metadata={"environment": index},
                step=self.steps,
            )
        self.metrics({"episode_return": mean, "episode_length": float(length)})

    def infos(self, info: Mapping[str, Any], step: int) -> None:
        """What upstream logs: stands in for `log_infos` of its agents, whose `except:` of everything would
        swallow a signal.
        """
        values = dict(_flat(info))
        if not any("Episode" in name for name in values):
            if not any("loss" in name.lower() for name in values):
                return  # COMA tells its epsilon at every step
            if self.steps - self._told < self._every:
                return
            self._told = self.steps
        self.metrics(values)
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def metrics(self, values: dict[str, float]) -> None:
        self.telemetry.metrics(self.steps, values)
        self.latest.update(values)

    @property
    def mean_return(self) -> dict[str, float]:
        """Of the last 20 episodes; nothing before the first has ended."""
        returns = self._returns
        return {"mean_episode_return": sum(returns) / len(returns)} if returns else {}

    @property
    def final_metrics(self) -> dict[str, float]:
        return {"steps": self.steps, **self.mean_return, **self.latest}


def _flat(info: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in info.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}/")
        elif value is not None:
            yield f"{prefix}{name}", float(value)
