"""Turn-based games as Gymnasium environments for upstream's algorithms.

A game's observation is a dict of the board and the mask of legal moves, as in PettingZoo's games, or the
board alone, with the mask in the info, as in OpenSpiel's; without a mask, every move is legal.

The learner's seat is drawn for each episode, which ends when the learner's game ends. After each of its
moves, the current version of the same policy plays the other seats; their moves are part of the step.
Observations have upstream's form for legal moves: `obs`, the board as a vector, and `mask`.
"""

from __future__ import annotations

import importlib
import math
import warnings
from typing import Any, Callable, Mapping

import gymnasium
import numpy as np
from gymnasium import spaces
from mosaic_contract import ConfigError, registry
from mosaic_contract.environment_check import unmakeable
from mosaic_contract.environment_spec import EnvironmentSpec
from mosaic_contract.errors import EnvironmentFault
from mosaic_contract.messages import ALONE
from mosaic_contract.pettingzoo_ids import pettingzoo_module

BOARD, MASK = "observation", "action_mask"
"""The keys of a game's observation, and of the mask in the info."""
_MAX_GAMES = 1_000
"""Maximum number of games in a row that end before the learner's first move."""
Player = Callable[[dict[str, Any]], int]
"""A function that selects a move from the result of `policy_observation`."""


def policy_observation(observation: Any, mask: Any) -> dict[str, Any]:
    """Return a policy's observation: the board, float32[n], and the mask of legal moves, bool[moves]."""
    board = observation[BOARD] if isinstance(observation, Mapping) else observation
    return {"obs": np.asarray(board, "f4").reshape(-1), "mask": np.asarray(mask).astype(bool)}


def is_own_game(env_id: str) -> bool:
    """Return whether an id is a turn-based PettingZoo game of this process. Raises `ConfigError` if its
    module cannot be imported."""
    name = pettingzoo_module(env_id)
    if name is None:
        return False
    try:
        return not hasattr(importlib.import_module(name), "parallel_env")
    except Exception as error:  # environments raise arbitrary exceptions
        raise unmakeable(env_id, error) from None


def spec_of_game(env_id: str, game: Any) -> EnvironmentSpec:
    """Return a game's spaces in the form of arenas. Raises `ConfigError` unless its agents observe boards of
    one size and choose among the same moves."""
    agents = list(game.possible_agents)
    spec: EnvironmentSpec = EnvironmentSpec.of(env_id, game)
    for agent in agents:
        observations, moves = spec.observations[agent], spec.actions[agent]
        if _board_of(observations) is None:
            raise ConfigError(
                f"{agent} of {env_id} observes {type(observations).__name__}, not a board of numbers"
            )
        if not isinstance(moves, spaces.Discrete):
            raise ConfigError(f"{agent} of {env_id} acts by {moves}, not by one of several moves")
    if len({(board_space(spec.observations[agent]).shape, spec.actions[agent].n) for agent in agents}) > 1:
        raise ConfigError(f"the players of {env_id} have different spaces; self-play has one policy for all")
    return spec


def learner_spec(game: EnvironmentSpec) -> EnvironmentSpec:
    """Return the spaces of the one policy that plays all sides."""
    agent, space = next(iter(game.observations.items()))
    return EnvironmentSpec(
        game.env_id, {ALONE: board_space(space)}, {ALONE: game.actions[agent]}, several=False
    )


def board_space(observations: Any) -> spaces.Box:
    """Return the space of the board as a vector, from an agent's observation space in the game."""
    return spaces.Box(-np.inf, np.inf, (math.prod(_board_of(observations).shape),), np.float32)


def _board_of(observations: Any) -> Any:
    """Return the space of the board, None if the observations have none."""
    board = observations
    if isinstance(observations, spaces.Dict):
        board = observations.get(BOARD) if set(observations) == {BOARD, MASK} else None
    return board if isinstance(board, (spaces.Box, spaces.MultiBinary)) else None


def make_game(env_id: str, render_mode: str | None = None, **settings: Any) -> Any:
    """Make a PettingZoo game, or a served one. Raises the game's own errors."""
    name = pettingzoo_module(env_id)
    if name is None:
        return registry.make(env_id, render_mode, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name).env(render_mode=render_mode, **settings)


class SelfPlay(gymnasium.Env[Any, Any]):
    """The game from the learner's seat; `opponent` plays the other seats."""

    def __init__(self, game: Any, opponent: Player) -> None:
        self._game, self._opponent = game, opponent
        self.agents = list(game.possible_agents)
        self.observation_space = game.observation_space(self.agents[0])
        self.action_space = game.action_space(self.agents[0])
        self.metadata = game.metadata
        self.rewards: dict[str, float] = {}
        """Rewards of the latest step, by agent."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        for _ in range(_MAX_GAMES):
            self._begin()
            if not self._is_over:  # otherwise the others have ended the game before the learner's first move
                break
        else:
            raise EnvironmentFault(
                f"{_MAX_GAMES:,} games in a row have ended before the learner's first move: there is "
                "nothing to learn"
            )
        return self._observation(self._seat), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play a move, followed by those of the other seats."""
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._move(int(action))
        self._reply()
        ended, cut = (bool(flags[self._seat]) for flags in (self._game.terminations, self._game.truncations))
        return self._observation(self._seat), self.rewards[self._seat], ended, cut, {}

    def render(self) -> Any:
        return self._game.render()

    def close(self) -> None:
        self._game.close()

    def _begin(self) -> None:
        self._game.reset(seed=int(self.np_random.integers(2**31)))
        self._seat = self.agents[int(self.np_random.integers(len(self.agents)))]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._reply()

    def _reply(self) -> None:
        while not self._is_over and self._game.agent_selection != self._seat:
            mover = self._game.agent_selection
            self._move(None if self._has_ended(mover) else self._opponent(self._observation(mover)))

    def _observation(self, agent: str) -> dict[str, Any]:
        observation, info = self._game.observe(agent), self._game.infos.get(agent) or {}
        mask = (observation if isinstance(observation, Mapping) else info).get(MASK)
        return policy_observation(observation, np.ones(self.action_space.n) if mask is None else mask)

    def _move(self, action: int | None) -> None:
        """Play a move; None in the turn that PettingZoo reserves for an agent that has ended."""
        self._game.step(action)
        for agent in self.agents:
            self.rewards[agent] += float(self._game.rewards.get(agent, 0.0))

    @property
    def _is_over(self) -> bool:
        return self._has_ended(self._seat)

    def _has_ended(self, agent: str) -> bool:
        return bool(self._game.terminations[agent] or self._game.truncations[agent])
