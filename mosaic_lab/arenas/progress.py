"""Where a lane is in its episode, and what its last step was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic_contract import as_number

from mosaic_lab.arenas.return_series import ReturnSeries


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
        """What the model of an agent has written so far in the call that is under way."""
        self.since = 0.0
        """When the step or the reset that is under way began, on the monotonic clock."""
        self.series = ReturnSeries()

    def take(self, message: Mapping[str, Any]) -> None:
        """Take a step that was made. Raises KeyError, TypeError or ValueError for a malformed message."""
        self.thinking = None
        self.partial = {}
        self.step = message["step_index"]
        self.turn, self.moves = message["turn"], message["moves"]
        self.described = dict(message.get("descriptions") or {})
        self.rewards, self.returns = numbers(message["rewards"]), numbers(message["returns"])
        self.terminated, self.truncated = message["terminated"], message["truncated"]
        self.total = sum(self.returns.values())
        self.series.add(self.step, self.total)


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Numbers from the wire by agent, NaN and the infinities among them."""
    return {agent: value if type(value) is float else as_number(value) for agent, value in values.items()}
