"""Counters of a lane: its place in the episode, its returns, the use of its language models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from mosaic_contract import as_number
from mosaic_contract.arena.exchanges import ExchangeSums, exchanges_of

MOST_POINTS = 500
"""Of the returns of an episode."""


class Progress:
    """An episode from its first step on: one is made for each reset."""

    def __init__(self, seed: int, episode: int) -> None:
        self.seed = seed
        self.episode = episode
        """Its index, counted over the whole comparison."""
        self.step = 0
        """Steps done."""
        self.total = 0.0
        """The return so far, summed over agents."""
        self.turn: list[str] = []
        """Agents that act next."""
        self.described: dict[str, dict[str, Any]] = {}
        """{agent of a person among these: the state as the environment's worker describes it}."""
        self.moves: list[dict[str, Any]] = []
        """The last step's actions, as the arena reports them."""
        self.rewards: dict[str, float] = {}
        self.returns: dict[str, float] = {}
        self.terminated = self.truncated = False
        self.thinking: dict[str, Any] | None = None
        """Which operator is taking its time: {"agent", "operator", "seconds"}."""
        self.partial: dict[str, str] = {}
        """Text that an agent's model has written so far in the call under way."""
        self.since = 0.0
        """When the step or the reset that is under way began, on the monotonic clock."""
        self.series = ReturnSeries()

    def record_step(self, message: Mapping[str, Any]) -> None:
        """Record a step that was made. Raises KeyError, TypeError or ValueError for a malformed message."""
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
    """The return after each step of an episode, as at most `MOST_POINTS` points (step, return): when there
    are too many, every second one goes and half as many are taken."""

    def __init__(self) -> None:
        self._points: list[tuple[int, float]] = [(0, 0.0)]
        self._last = (0, 0.0)
        self._every = 1

    def add(self, step: int, total: float) -> None:
        """The return after ``step`` steps."""
        self._last = (step, total)
        if step % self._every == 0:
            self._points.append(self._last)
            if len(self._points) >= MOST_POINTS:
                self._every *= 2
                self._points = [point for point in self._points if point[0] % self._every == 0]

    def points(self) -> list[tuple[int, float]]:
        """The points kept, oldest first; the newest point is always among them."""
        return self._points if self._points[-1] == self._last else [*self._points, self._last]


class ModelUsage:
    """The tokens, cost and latency of a lane's language models, over all of its episodes.

    Exchanges of steps that were made count; those of a step that a reset has ended are in the recording only.
    """

    def __init__(self) -> None:
        self._sums = ExchangeSums()

    def add(self, moves: Iterable[Mapping[str, Any]]) -> None:
        """Count the exchanges of one step, as its arena reports them."""
        for move in moves:
            self._sums.add(exchanges_of(move))

    def to_dict(self) -> dict[str, Any] | None:
        """Return `ExchangeSums`' counts and amounts and the median latency in milliseconds (``exchange_ms``);
        None without an exchange."""
        sums = self._sums
        if not sums.counts["exchanges"]:
            return None
        latency = median(sums.latencies) if sums.latencies else None
        return {**sums.counts, **sums.amounts, "exchange_ms": latency}


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Numbers from the wire by agent, NaN and the infinities among them."""
    return {agent: value if type(value) is float else as_number(value) for agent, value in values.items()}
