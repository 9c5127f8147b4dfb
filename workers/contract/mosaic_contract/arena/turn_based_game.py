"""The base class of turn-based games that workers build on a library without PettingZoo's interface."""

from __future__ import annotations

from typing import Any


class TurnBasedGame:
    """The members of a turn-based PettingZoo environment (AEC) that are the same for all games. Agents are
    "player_0", "player_1", …. Subclasses define the rest, and `play` instead of `step`."""

    rewards: dict[str, float]
    terminations: dict[str, bool]

    def __init__(self, players: int) -> None:
        self.possible_agents = [f"player_{number}" for number in range(players)]
        self.agents: list[str] = []
        self.agent_selection = self.possible_agents[0]
        self._numbers = {agent: number for number, agent in enumerate(self.possible_agents)}

    def agent_iter(self) -> None:
        """PettingZoo's method, by which turn-based environments are recognized."""
        raise NotImplementedError("an arena steps this environment by its agent_selection")

    def number_of(self, agent: str) -> int:
        """Return an agent's number in the game."""
        return self._numbers[agent]

    def step(self, action: Any) -> None:
        if not self.terminations[self.agent_selection]:
            self.play(action)
            return
        self.agents.remove(self.agent_selection)  # the last step of an agent after the game's end
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.agent_selection = next(iter(self.agents), self.agent_selection)

    def play(self, action: Any) -> None:
        """Play a move of `agent_selection` and update the members."""
        raise NotImplementedError

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
