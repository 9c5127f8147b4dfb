"""Counters of a lane: position in the episode, returns and language model usage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from mosaic_contract import as_number
from mosaic_contract.arena.exchanges import ExchangeSums, exchanges_of

MOST_POINTS = 500
"""Maximum number of points in the return series of an episode."""


class Progress:
    """An episode since its first step; each reset creates one."""

    def __init__(self, seed: int, episode: int) -> None:
        self.seed = seed
        self.episode = episode
        """The episode's index, counted over the whole comparison."""
        self.step = 0
        """Completed steps."""
        self.total = 0.0
        """The return so far, summed over agents."""
        self.turn: list[str] = []
        """Agents that act next."""
        self.described: dict[str, dict[str, Any]] = {}
        """{human-played agent to act: state as described by the environment's worker}."""
        self.moves: list[dict[str, Any]] = []
        """The last step's actions, as reported by the arena."""
        self.rewards: dict[str, float] = {}
        self.returns: dict[str, float] = {}
        self.terminated = self.truncated = False
        self.thinking: dict[str, Any] | None = None
        """The operator that is taking long: {"agent", "operator", "seconds"}."""
        self.partial: dict[str, str] = {}
        """Text received so far from an agent's model during the current call."""
        self.since = 0.0
        """Start of the current step or reset, on the monotonic clock."""
        self.series = ReturnSeries()

    def record_step(self, message: Mapping[str, Any]) -> None:
        """Record a completed step. Raises KeyError, TypeError or ValueError for a malformed message."""
        self.thinking = None
        self.partial = {}
        self.step = message["step_index"]
        self.turn, self.moves = message["turn"], message["moves"]
        self.described = dict(message.get("descriptions") or {})
        self.rewards, self.returns = numbers(message["rewards"]), numbers(message["returns"])
        self.terminated, self.truncated = message["terminated"], message["truncated"]
        self.total = sum(self.returns.values())
        self.series.add(self.step, self.total)


class ReturnSeries:
    """The return after each step of an episode, as at most `MOST_POINTS` points (step, return). Beyond that,
    every second point is dropped and the sampling interval doubles.
    """

    def __init__(self) -> None:
        self._points: list[tuple[int, float]] = [(0, 0.0)]
        self._last = (0, 0.0)
        self._every = 1

    def add(self, step: int, total: float) -> None:
        """Add the return after ``step`` steps."""
        self._last = (step, total)
        if step % self._every == 0:
            self._points.append(self._last)
            if len(self._points) >= MOST_POINTS:
                self._every *= 2
                self._points = [point for point in self._points if point[0] % self._every == 0]

    def points(self) -> list[tuple[int, float]]:
        """The points kept, oldest first, always including the newest."""
        return self._points if self._points[-1] == self._last else [*self._points, self._last]


class ModelUsage:
    """The tokens, cost and latency of a lane's language models, over all episodes.

    Only exchanges of completed steps count; exchanges of a step ended by a reset are only in the recording.
    """

    def __init__(self) -> None:
        self._sums = ExchangeSums()

    def add(self, moves: Iterable[Mapping[str, Any]]) -> None:
        """Add the exchanges of one step, as reported by its arena."""
        for move in moves:
            self._sums.add(exchanges_of(move))

    def to_dict(self) -> dict[str, Any] | None:
        """Return `ExchangeSums`' counts and amounts and the median latency in milliseconds (``exchange_ms``),
        or None if no exchange was recorded.
        """
        sums = self._sums
        if not sums.counts["exchanges"]:
            return None
        latency = median(sums.latencies) if sums.latencies else None
        return {**sums.counts, **sums.amounts, "exchange_ms": latency}


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return received numbers by agent, including NaN and infinities."""
    return {agent: value if type(value) is float else as_number(value) for agent, value in values.items()}
