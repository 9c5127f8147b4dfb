"""A user's PettingZoo module: agents with different spaces and unusual names leave and join in an episode."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv

SEEN = {"red team/1": 2, "blau ä": 3, "late.0": 2}
COMES, LEAVES, ENDS = 5, 3, 8


class Leaving(ParallelEnv[Any, Any, Any]):
    metadata = {"name": "leaving_v0", "render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.possible_agents = list(SEEN)

    def observation_space(self, agent: str) -> Any:
        return Box(-1, 1, (SEEN[agent],), np.float32)

    def action_space(self, agent: str) -> Any:
        return Discrete(SEEN[agent])

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.steps, self.agents = 0, ["red team/1", "blau ä"]
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions: Any) -> Any:
        self.steps += 1
        ended = {
            agent: self.steps == ENDS or (agent == "red team/1" and self.steps == LEAVES)
            for agent in self.agents
        }
        seen, rewards = self._seen(), dict.fromkeys(self.agents, 1.0)
        self.agents = [agent for agent in self.agents if not ended[agent]]
        if self.steps == COMES:
            self.agents.append("late.0")
            seen["late.0"], rewards["late.0"], ended["late.0"] = np.zeros(2, np.float32), 0.0, False
        return seen, rewards, ended, dict.fromkeys(ended, False), {agent: {} for agent in ended}

    def render(self) -> Any:
        return np.zeros((32, 32, 3), np.uint8)

    def _seen(self) -> dict[str, Any]:
        return {agent: np.zeros(SEEN[agent], np.float32) for agent in self.agents}


def parallel_env(**settings: Any) -> Leaving:
    return Leaving(**settings)
