"""Statistics of one episode: steps, returns, faults, outcome, and the resources used by its operators."""

from __future__ import annotations

import math
import time
from typing import Any, Iterable, Mapping, Sequence

from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.environment_adapters import EnvironmentAdapter
from mosaic_contract.arena.errors import ArenaError
from mosaic_contract.arena.exchanges import ExchangeSums
from mosaic_contract.fastlane import Hud

_FAULTS = ("late", "illegal")  # all other faults are errors


class ArenaEpisode:
    """Counter of steps, returns and faults. `to_message` returns the final summary for the kernel."""

    def __init__(self, index: int, seed: int, agents: Sequence[str], max_steps: int | None) -> None:
        self.index, self.seed = index, seed
        self.steps = 0
        self.returns = dict.fromkeys(agents, 0.0)
        self.faults: dict[str, int] = {}
        self.forfeit: str | None = None
        self.terminated = self.truncated = self.done = False
        self.success: bool | None = None
        self.progression: float | None = None
        self.recording: dict[str, Any] | None = None
        """The name, SHA-256 and number of steps of its observation file, if observations are recorded."""
        self._max_steps = max_steps
        self._began: float | None = None

    def begin(self) -> None:
        """Start the clock at the first step, since time before it does not count."""
        if self._began is None:
            self._began = time.monotonic()

    def count_faults(self, calls: Sequence[Call]) -> None:
        for call in calls:
            if call.fault is not None:
                self.faults[call.operator.key] = self.faults.get(call.operator.key, 0) + 1
            if call.forfeited and self.forfeit is None:
                self.forfeit = call.agent

    def advance(self, environment: EnvironmentAdapter) -> None:
        """Count a step that the environment has taken."""
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
        """End the episode for all agents because one has forfeited."""
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
            **({} if self.recording is None else {"recording": self.recording}),
        }

    def step_message(self, environment: EnvironmentAdapter, calls: Sequence[Call]) -> dict[str, Any]:
        """Return the fields of "stepped" for the last step and its calls."""
        return {
            "episode_index": self.index,
            "step_index": self.steps,
            "moves": [call.to_move() for call in calls if call.done],
            "rewards": environment.rewards,
            "returns": self.returns,
            "turn": [] if self.done else environment.turn,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "done": self.done,
            "episode": self.to_message() if self.done else None,
        }

    def hud(self, environment: EnvironmentAdapter, calls: Sequence[Call]) -> Hud:
        """Return the HUD shown with a frame after a step with these calls."""
        texts = [call.rules.named(call.action) for call in calls]
        if len(calls) > 1:
            texts = [f"{call.agent}: {text}" for call, text in zip(calls, texts)]
        return Hud(
            episode=self.index,
            step=self.steps,
            reward=sum(environment.rewards.values()),
            episode_return=sum(self.returns.values()),
            agent=", ".join(call.agent for call in calls) if len(self.returns) > 1 else "",
            text=", ".join(texts),
        )


class OperatorStatistics:
    """Sums over each operator's calls, by its key, in an episode whose steps are not reported one by one."""

    def __init__(self, operators: Iterable[str]) -> None:
        self._sums = {
            key: dict.fromkeys(("calls", "illegal", "late", "errors", "input_tokens", "output_tokens"), 0)
            for key in operators
        }
        self._seconds = dict.fromkeys(self._sums, 0.0)
        self._exchanges: dict[str, ExchangeSums] = {}

    def add(self, calls: Sequence[Call]) -> None:
        """Count the calls of one step, except calls that were not awaited to the end."""
        for call in calls:
            if not call.done:
                continue
            key = call.operator.key
            sums = self._sums[key]
            sums["calls"] += 1
            self._seconds[key] += call.seconds
            if call.fault is not None:
                sums[call.fault if call.fault in _FAULTS else "errors"] += 1
            if not call.answer:
                continue
            for name in ("input_tokens", "output_tokens"):
                if name in call.answer:
                    sums[name] += call.tokens(name)
            if exchanges := call.exchanges:
                self._exchanges.setdefault(key, ExchangeSums()).add(exchanges)

    def to_message(self) -> dict[str, Any]:
        """Return each operator's sums and mean latency per call in milliseconds. If it reported exchanges,
        also their number, tokens and cost (None if any is unknown), faults, and latencies in milliseconds."""
        return {
            key: {
                **sums,
                "latency_ms": round(1e3 * self._seconds[key] / max(sums["calls"], 1), 4),
                **(_summed(self._exchanges[key]) if key in self._exchanges else {}),
            }
            for key, sums in self._sums.items()
        }


def _summed(sums: ExchangeSums) -> dict[str, Any]:
    cost = sums.amounts["cost_usd"]
    return {
        **sums.counts,
        **sums.amounts,
        "cost_usd": None if cost is None else round(cost, 9),
        "exchange_ms": [round(latency) for latency in sums.latencies],
    }


def _finite(value: Any) -> float | None:
    """Return a number from an environment's info; None for any other value."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def seeds_of(command: Mapping[str, Any]) -> tuple[int, int]:
    """Return the environment's and the operators' seeds for the episode that a command begins. Raises
    `ArenaError`."""
    seed = command.get("seed")
    return _seed(seed), _seed(command.get("operator_seed", seed))


def _seed(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ArenaError(f"seed must be an integer ≥ 0, not {value!r:.100}")
    return int(value)
