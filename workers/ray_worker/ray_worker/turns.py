"""Turn-based games as parallel environments, the form that upstream trains on.

A game's observation is a dict of the board and the mask of legal moves, as in PettingZoo's games, or the
board alone, with the mask in the info, as in OpenSpiel's; without a mask, every move is legal. Here every
agent observes a vector: the flattened board, and 1 for each move that is currently legal (none while it
waits). Only the action of the agent to move counts. All agents stay until the end of the game. An illegal
move is replaced by a random legal move, since trained policies never choose an illegal move when they act.
Imports nothing of the contract: it also runs on cluster machines without it.
"""

from __future__ import annotations

import math
from typing import Any, Mapping

import numpy as np
from gymnasium import spaces

BOARD, MASK = "observation", "action_mask"
"""The keys of a game's observation, and of the mask in the info."""


def observation_vector(observation: Any, mask: Any) -> np.ndarray[Any, Any]:
    """Return an agent's observation vector, float32[board + moves]."""
    board = observation[BOARD] if isinstance(observation, Mapping) else observation
    return np.concatenate([np.asarray(part).reshape(-1) for part in (board, mask)], dtype="f4")


def vector_space(observations: Any, actions: Any) -> spaces.Box:
    """Return the space of the observation vector, from an agent's spaces in the game."""
    numbers = math.prod(_board_of(observations).shape) + int(actions.n)
    return spaces.Box(-np.inf, np.inf, (numbers,), np.float32)


def _board_of(observations: Any) -> Any:
    """Return the space of the board, None if the observations have none."""
    board = observations
    if isinstance(observations, spaces.Dict):
        board = observations.get(BOARD) if set(observations) == {BOARD, MASK} else None
    return board if isinstance(board, (spaces.Box, spaces.MultiBinary)) else None


class TurnGame:
    """The game ``env`` (AEC) with PettingZoo's parallel interface. Raises ValueError unless its agents
    observe a board and choose one of several moves."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self._generator = np.random.default_rng()
        self.metadata = env.metadata
        self.possible_agents = list(env.possible_agents)
        self.agents = list(self.possible_agents)
        for agent in self.possible_agents:
            observations, moves = env.observation_space(agent), env.action_space(agent)
            if _board_of(observations) is None:
                raise ValueError(f"{agent} observes {type(observations).__name__}, not a board of numbers")
            if not isinstance(moves, spaces.Discrete):
                raise ValueError(f"{agent} acts by {moves}, not by one of several moves")

    @property
    def unwrapped(self) -> Any:
        return self._env.unwrapped

    def game_space(self, agent: str) -> Any:
        """Return an agent's observation space in the game, in the form of arenas."""
        return self._env.observation_space(agent)

    def observation_space(self, agent: str) -> spaces.Box:
        return vector_space(self.game_space(agent), self.action_space(agent))

    def action_space(self, agent: str) -> Any:
        return self._env.action_space(agent)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        if seed is not None:
            self._generator = np.random.default_rng(seed)
        self._env.reset(seed=seed, options=options)
        self._ended: dict[str, tuple[bool, bool]] = dict.fromkeys(self.possible_agents, (False, False))
        self.agents = list(self.possible_agents)
        return self._observations(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        mover = self._env.agent_selection
        legal = np.flatnonzero(self._mask(mover, self._env.observe(mover)))
        move = int(actions[mover])
        self._env.step(move if move in legal else int(self._generator.choice(legal)))
        rewards = {agent: float(self._env.rewards.get(agent, 0.0)) for agent in self.possible_agents}
        is_over = self._record_ends()
        if is_over:
            self.agents = []
        else:
            self._skip_ended()
        ended, cut = ({agent: is_over and flags[i] for agent, flags in self._ended.items()} for i in (0, 1))
        return self._observations(), rewards, ended, cut, {agent: {} for agent in self.possible_agents}

    def _record_ends(self) -> bool:
        """Record which agents have ended. Return whether all have."""
        terminated, truncated = self._env.terminations, self._env.truncations
        self._ended.update({agent: (bool(terminated[agent]), bool(truncated[agent])) for agent in terminated})
        return all(any(flags) for flags in self._ended.values())

    def _skip_ended(self) -> None:
        """Take the turns that PettingZoo reserves for agents that have ended."""
        while any(self._ended[self._env.agent_selection]):
            self._env.step(None)

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()

    def _observations(self) -> dict[str, Any]:
        observed = {agent: self._env.observe(agent) for agent in self.possible_agents}
        return {
            agent: observation_vector(value, self._mask(agent, value)) for agent, value in observed.items()
        }

    def _mask(self, agent: str, observation: Any) -> Any:
        """Return the mask of an agent's legal moves."""
        if isinstance(observation, Mapping):
            return observation[MASK]
        is_mover = agent == self._env.agent_selection
        uniform = np.full(self.action_space(agent).n, is_mover, np.int8)
        return self._env.infos[agent].get(MASK, uniform) if is_mover else uniform
