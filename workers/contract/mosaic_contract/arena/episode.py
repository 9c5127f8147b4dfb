"""The counts of one episode: steps, returns, faults, and how it ended."""

from __future__ import annotations

import math
import time
from typing import Any, Mapping, Sequence

from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.environment_adapters import EnvironmentAdapter


class Episode:
    """Counts steps, returns and faults; `to_message` is sent to the kernel when it has ended."""

    def __init__(self, index: int, seed: int, agents: Sequence[str], max_steps: int | None) -> None:
        self.index, self.seed = index, seed
        self.steps = 0
        self.returns = dict.fromkeys(agents, 0.0)
        self.faults: dict[str, int] = {}
        self.forfeit: str | None = None
        self.terminated = self.truncated = self.done = False
        self.success: bool | None = None
        self.progression: float | None = None
        self._max_steps = max_steps
        self._began: float | None = None

    def begin(self) -> None:
        """Start its clock with the first step: time to look at the start does not count."""
        if self._began is None:
            self._began = time.monotonic()

    def count_faults(self, calls: Sequence[Call]) -> None:
        for call in calls:
            if call.fault is not None:
                self.faults[call.operator.key] = self.faults.get(call.operator.key, 0) + 1
            if call.forfeited and self.forfeit is None:
                self.forfeit = call.agent

    def advance(self, environment: EnvironmentAdapter) -> None:
        """Take a step that the environment has made."""
        self.steps += 1
        for agent, reward in environment.rewards.items():
            self.returns[agent] += reward
        if not environment.turn:
            self._end(
                any(environment.terminated.values()), any(environment.truncated.values()), environment.info
            )
        elif self._max_steps is not None and self.steps >= self._max_steps:
            self._end(False, True, environment.info)

    def give_up(self) -> None:
        """End the episode for all, since an agent has forfeited."""
        self._end(False, True, {})

    def _end(self, terminated: bool, truncated: bool, info: Mapping[str, Any]) -> None:
        self.terminated, self.truncated, self.done = terminated, truncated, True
        success = info.get("is_success", info.get("success"))
        self.success = None if success is None else bool(success)
        self.progression = _finite(info.get("progression"))
        now = time.monotonic()
        self.seconds = now - (now if self._began is None else self._began)

    def to_message(self) -> dict[str, Any]:
        return {
            "episode_index": self.index,
            "seed": self.seed,
            "steps": self.steps,
            "returns": self.returns,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "forfeit": self.forfeit,
            "faults": self.faults,
            "success": self.success,
            "progression": self.progression,
            "duration_seconds": round(self.seconds, 6),
        }


def _finite(value: Any) -> float | None:
    """Return a number of an environment's info; None for anything else by that name."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
