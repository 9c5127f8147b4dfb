"""Environments of several agents with numbers from 0, as parallel environments of "agent_0", "agent_1", …."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Iterable


class NumberedAgents:
    """The members of a PettingZoo parallel environment other than `reset` and `step`, around a Gymnasium
    environment with one space per agent. Agent ``agent_<n>`` has the spaces at index ``n`` of ``numbers``.
    """

    def __init__(self, env: Any, numbers: Iterable[int]) -> None:
        self._env = env
        self._numbers = {f"agent_{number}": number for number in numbers}
        self.possible_agents = list(self._numbers)
        self.agents: list[str] = []

    @property
    def unwrapped(self) -> Any:
        return self._env.unwrapped

    def number_of(self, agent: str) -> int:
        """Return an agent's number in the environment."""
        return self._numbers[agent]

    def observation_space(self, agent: str) -> Any:
        return self._env.observation_space[self._numbers[agent]]

    def action_space(self, agent: str) -> Any:
        return self._env.action_space[self._numbers[agent]]

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()


def registered(prefix: str) -> list[str]:
    """Return the ids of Gymnasium's registry that begin with a prefix."""
    registry = import_module("gymnasium").registry
    return sorted(env_id for env_id in registry if env_id.startswith(prefix))
