"""The environments of `unruly` as a PettingZoo module for a team of two."""

from __future__ import annotations

from typing import Any

import unruly


class Unruly:
    """Two agents in one environment of `unruly`. `how`: the name of its class."""

    def __init__(self, how: str, render_mode: str | None = None) -> None:
        self._env = getattr(unruly, how)(render_mode)
        self.metadata = self._env.metadata
        self.possible_agents = ["red", "blue"]

    @property
    def unwrapped(self) -> Any:
        return self._env

    def observation_space(self, agent: str) -> Any:
        return self._env.observation_space

    def action_space(self, agent: str) -> Any:
        return self._env.action_space

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents = list(self.possible_agents)
        return self._of_both(self._env.reset(seed=seed))

    def step(self, actions: Any) -> Any:
        returned = self._of_both(self._env.step(actions["red"]))
        self.agents = [] if returned[2]["red"] else self.agents
        return returned

    def _of_both(self, values: Any) -> Any:
        return tuple(dict.fromkeys(self.possible_agents, value) for value in values)

    def close(self) -> None:
        self._env.close()


def parallel_env(**settings: Any) -> Unruly:
    return Unruly(**settings)
