"""OpenSpiel games as environments with PettingZoo's turn-based interface (AEC)."""

from __future__ import annotations

import string
from typing import Any, ClassVar, Mapping

import numpy
import pyspiel
from gymnasium import spaces
from mosaic_contract.arena import TurnBasedGame

from .pictures import picture_of

_MOST_TEXT = 1 << 16  # characters of an observation


class GameEnvironment(TurnBasedGame):
    """A game with agents "player_0", "player_1", …. Chance outcomes are drawn from the seed of the reset.

    Simultaneous moves are chosen one after another, without knowledge of the other choices in the same move.
    An observation is the tensor of the player's information state, or of its observation in games without
    one, else a string. A reward is the change of the player's return.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "openspiel", "render_modes": ["rgb_array"]}

    def __init__(self, kind: Any, parameters: Mapping[str, Any], render_mode: str | None) -> None:
        self.kind = kind
        self.render_mode = render_mode
        self._parameters = dict(parameters)
        self.game = self._load(0)
        self.state: Any = None
        super().__init__(self.game.num_players())
        self._tensor, shape = self._observed()
        observed = (
            spaces.Text(_MOST_TEXT, min_length=0, charset=string.printable)
            if self._tensor is None
            else spaces.Box(-numpy.inf, numpy.inf, shape, numpy.float32)
        )
        self._spaces = {
            agent: (observed, spaces.Discrete(self.game.num_distinct_actions()))
            for agent in self.possible_agents
        }

    @property
    def unwrapped(self) -> GameEnvironment:
        return self

    @property
    def perfect(self) -> bool:
        """Whether every player sees the whole state."""
        return bool(self.game.get_type().information == pyspiel.GameType.Information.PERFECT_INFORMATION)

    def observation_space(self, agent: str) -> Any:
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> Any:
        return self._spaces[agent][1]

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self._chance = numpy.random.default_rng(seed)
        if "rng_seed" in self.kind.parameter_specification:  # the game itself draws its chance outcomes
            self.game = self._load(int(self._chance.integers(1 << 31)))
        self.state = self.game.new_initial_state()
        self._chosen: dict[int, int] = {}
        self.agents = list(self.possible_agents)
        self._returns = [0.0] * len(self.agents)
        self._update()

    def play(self, action: Any) -> None:
        self._play(self._numbers[self.agent_selection], int(action))
        self._update()

    def observe(self, agent: str) -> Any:
        player = self._numbers[agent]
        if self._tensor is None:
            return self.text_for(agent)[:_MOST_TEXT]
        values = numpy.asarray(getattr(self.state, self._tensor)(player), numpy.float32)
        return values.reshape(self._spaces[agent][0].shape)

    def text_for(self, agent: str) -> str:
        """Return the state in OpenSpiel's notation, limited to this agent's knowledge."""
        player, provides = self._numbers[agent], self.game.get_type()
        if self.perfect:
            return str(self.state)
        if provides.provides_information_state_string:
            return str(self.state.information_state_string(player))
        if provides.provides_observation_string:
            return str(self.state.observation_string(player))
        return f"Your moves so far: {', '.join(self._own_moves(player)) or 'none'}"

    def legal_moves(self) -> dict[str, int]:
        """Return the current player's legal action numbers by name.

        Repeated and empty names have the number appended.
        """
        player, moves = self._numbers[self.agent_selection], {}
        for action in self.state.legal_actions(player):
            name = self.state.action_to_string(player, action).strip()
            moves[f"{name} [{action}]" if name in moves or not name else name] = int(action)
        return moves

    def render(self) -> Any:
        return picture_of(self)

    def copy(self) -> GameEnvironment:
        """Return another environment of the same game."""
        return GameEnvironment(self.kind, self._parameters, self.render_mode)

    def _load(self, seed: int) -> Any:
        """Return the game; `seed` applies to games that draw chance outcomes themselves."""
        parameters = dict(self._parameters)
        if "rng_seed" in self.kind.parameter_specification:
            parameters.setdefault("rng_seed", seed)
        return pyspiel.load_game(self.kind.short_name, parameters)

    def _observed(self) -> tuple[str | None, list[int]]:
        """Return the name and the shape of the observed tensor; None and [] for text observations."""
        provides = self.game.get_type()
        if provides.provides_information_state_tensor:
            return "information_state_tensor", list(self.game.information_state_tensor_shape())
        if provides.provides_observation_tensor:
            return "observation_tensor", list(self.game.observation_tensor_shape())
        return None, []

    def _update(self) -> None:
        """Draw chance outcomes until a player is to move or the game is over, and record changes."""
        while self.state.is_chance_node():
            actions, chances = zip(*self.state.chance_outcomes())
            shares = numpy.asarray(chances)
            self.state.apply_action(int(self._chance.choice(actions, p=shares / shares.sum())))
        returns = self.state.returns()
        self.rewards = {
            agent: returns[number] - self._returns[number] for agent, number in self._numbers.items()
        }
        self._returns = returns
        over = self.state.is_terminal()
        self.terminations = dict.fromkeys(self.agents, over)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        player = 0 if over else self._on_turn()
        self.agent_selection = self.possible_agents[player]
        if not over:
            mask = numpy.asarray(self.state.legal_actions_mask(player), numpy.int8)
            self.infos[self.agent_selection] = {"action_mask": mask}

    def _on_turn(self) -> int:
        """Return the player to act; for simultaneous moves, the first player without a choice."""
        if not self.state.is_simultaneous_node():
            return int(self.state.current_player())
        return next(player for player in self._movers() if player not in self._chosen)

    def _movers(self) -> list[int]:
        return [player for player in self._numbers.values() if self.state.legal_actions(player)]

    def _play(self, player: int, action: int) -> None:
        """Play an action; simultaneous moves are played once all players have chosen."""
        if not self.state.is_simultaneous_node():
            self.state.apply_action(action)
            return
        self._chosen[player] = action
        if len(self._chosen) == len(self._movers()):
            others = pyspiel.INVALID_ACTION
            self.state.apply_actions([self._chosen.get(number, others) for number in self._numbers.values()])
            self._chosen = {}

    def _own_moves(self, player: int) -> list[str]:
        return [str(pair.action) for pair in self.state.full_history() if pair.player == player]
