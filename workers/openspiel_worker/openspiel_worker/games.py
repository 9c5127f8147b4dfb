"""OpenSpiel's games by id ("OpenSpiel/kuhn_poker"), with OpenSpiel's own parameters as settings.

Each is an environment with PettingZoo's turn-based interface (AEC).
"""

from __future__ import annotations

import random
import string
from typing import Any, Callable, ClassVar, Mapping

import numpy
import pyspiel
from gymnasium import spaces
from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, TurnBasedGame, check_settings

from .pictures import picture_of

PREFIX = "OpenSpiel/"
_UNAVAILABLE = ("crossword",)  # its word files are not included
_MAX_NAMED = 24  # maximum number of actions with buttons
_SAMPLE = 300  # steps of random games
_TEAM = "players"
_MAX_TEXT = 1 << 16  # characters of an observation

_UTILITIES = {
    pyspiel.GameType.Utility.ZERO_SUM: "What one player wins the others lose.",
    pyspiel.GameType.Utility.CONSTANT_SUM: "The players' returns have a constant sum.",
    pyspiel.GameType.Utility.GENERAL_SUM: "Players may win or lose together.",
    pyspiel.GameType.Utility.IDENTICAL: "All players have the same return: play together.",
}


def ids() -> list[str]:
    return list(_game_types())


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> GameEnvironment:
    """Create a game, with `settings` as its parameters, such as {"players": 3}. Raises `ConfigError` for
    parameters that the game does not have or rejects."""
    game_type = _game_types()[env_id]
    check_settings(env_id, settings, _nothing, also=list(game_type.parameter_specification))
    try:
        return GameEnvironment(game_type, settings, render_mode)
    except (pyspiel.SpielError, TypeError) as error:
        raise ConfigError(f"{env_id} cannot be made with env_kwargs={dict(settings)!r}: {error}") from None


def _game_types() -> dict[str, Any]:
    """Return OpenSpiel's game types by id, without mean field games and games made from another or a file."""
    return {
        PREFIX + game_type.short_name: game_type
        for game_type in pyspiel.registered_games()
        if game_type.default_loadable
        and game_type.short_name not in _UNAVAILABLE
        and game_type.dynamics != pyspiel.GameType.Dynamics.MEAN_FIELD
    }


def _nothing() -> None:
    """Accept no keywords: all settings are parameters of the game."""


def facts_of(env: GameEnvironment, agent: str) -> EnvironmentFacts:
    """Return information about one agent of a game from `make`."""
    names = _names(env, agent)
    together = env.game_type.utility == pyspiel.GameType.Utility.IDENTICAL and len(env.possible_agents) > 1
    return EnvironmentFacts(
        names,
        _initials(names) if names else None,
        _TEAM if together else "",
        instructions=_instructions(env, agent),
        describe=_describer(env, agent, with_moves=names is None),
    )


def _names(env: GameEnvironment, agent: str) -> list[str] | None:
    """Return a name for each action if there are few. None if there are many, if names depend on the state,
    or if some action does not occur in a few random games."""
    count = env.game.num_distinct_actions()
    if count > _MAX_NAMED:
        return None
    name_of: dict[int, str] = {}
    generator, game, steps = random.Random(0), env.copy(), 0
    for seed in range(_SAMPLE):
        game.reset(seed=seed)
        while steps < _SAMPLE and not game.terminations[game.agent_selection]:
            moves = game.legal_moves()
            if game.agent_selection == agent and any(name_of.setdefault(n, m) != m for m, n in moves.items()):
                return None
            game.step(generator.choice(list(moves.values())))
            steps += 1
    return [name_of[action] for action in range(count)] if len(name_of) == count else None


def _initials(names: list[str]) -> dict[str, int] | None:
    """Return the first letter of each name as its key. None, which means digits, unless all differ."""
    keys = [name[0].lower() for name in names]
    if not all(map(str.isalpha, keys)) or len(set(keys)) < len(keys):
        return None
    return {key: action for action, key in enumerate(keys)}


def _instructions(env: GameEnvironment, agent: str) -> str:
    game, count = env.game, len(env.possible_agents)
    parts = [f"The game is {env.game_type.long_name}, as OpenSpiel plays it ({env.game_type.short_name})."]
    if count > 1:
        parts.append(f"You are player {env.number_of(agent)} of {count} (players 0 to {count - 1}).")
        parts.append(_UTILITIES.get(env.game_type.utility, ""))
    parts.append(f"A game's return lies between {game.min_utility():g} and {game.max_utility():g}.")
    if not env.perfect:
        parts.append("You are shown only what you may know; the others do not see what is yours.")
    return " ".join(part for part in parts if part)


def _describer(env: GameEnvironment, agent: str, with_moves: bool) -> Callable[[], Mapping[str, Any]]:
    """Return a function that describes the state to its agent: {"text": in OpenSpiel's notation}, with
    "legal_moves" {name: action} if the actions have no other names."""

    def describe() -> Mapping[str, Any]:
        described: dict[str, Any] = {"text": env.text_for(agent)}
        if with_moves and agent == env.agent_selection:
            described["legal_moves"] = env.legal_moves()
        return described

    return describe


class GameEnvironment(TurnBasedGame):
    """A game with agents "player_0", "player_1", …. Chance outcomes are drawn from the seed of the reset.

    Simultaneous moves are chosen one after another, without knowledge of the other choices in the same move.
    An observation is the tensor of the player's information state, or of its observation in games without
    one, else a string. A reward is the change of the player's return.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "openspiel", "render_modes": ["rgb_array"]}

    def __init__(self, game_type: Any, parameters: Mapping[str, Any], render_mode: str | None) -> None:
        self.game_type = game_type
        self.render_mode = render_mode
        self._parameters = dict(parameters)
        self.game = self._load(0)
        self.state: Any = None
        super().__init__(self.game.num_players())
        self._tensor, shape = self._tensor_spec()
        observation_space = (
            spaces.Text(_MAX_TEXT, min_length=0, charset=string.printable)
            if self._tensor is None
            else spaces.Box(-numpy.inf, numpy.inf, shape, numpy.float32)
        )
        self._spaces = {
            agent: (observation_space, spaces.Discrete(self.game.num_distinct_actions()))
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
        if "rng_seed" in self.game_type.parameter_specification:  # the game itself draws its chance outcomes
            self.game = self._load(int(self._chance.integers(1 << 31)))
        self.state = self.game.new_initial_state()
        self._choices: dict[int, int] = {}
        self.agents = list(self.possible_agents)
        self._returns = [0.0] * len(self.agents)
        self._update()

    def play(self, action: Any) -> None:
        self._play(self._numbers[self.agent_selection], int(action))
        self._update()

    def observe(self, agent: str) -> Any:
        player = self._numbers[agent]
        if self._tensor is None:
            return self.text_for(agent)[:_MAX_TEXT]
        values = numpy.asarray(getattr(self.state, self._tensor)(player), numpy.float32)
        return values.reshape(self._spaces[agent][0].shape)

    def text_for(self, agent: str) -> str:
        """Return the state in OpenSpiel's notation, limited to this agent's knowledge."""
        player, game_type = self._numbers[agent], self.game.get_type()
        if self.perfect:
            return str(self.state)
        if game_type.provides_information_state_string:
            return str(self.state.information_state_string(player))
        if game_type.provides_observation_string:
            return str(self.state.observation_string(player))
        return f"Your moves so far: {', '.join(self._moves_of(player)) or 'none'}"

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
        return GameEnvironment(self.game_type, self._parameters, self.render_mode)

    def _load(self, seed: int) -> Any:
        """Return the game; `seed` applies to games that draw chance outcomes themselves."""
        parameters = dict(self._parameters)
        if "rng_seed" in self.game_type.parameter_specification:
            parameters.setdefault("rng_seed", seed)
        return pyspiel.load_game(self.game_type.short_name, parameters)

    def _tensor_spec(self) -> tuple[str | None, list[int]]:
        """Return the name and the shape of the observed tensor; None and [] for text observations."""
        game_type = self.game.get_type()
        if game_type.provides_information_state_tensor:
            return "information_state_tensor", list(self.game.information_state_tensor_shape())
        if game_type.provides_observation_tensor:
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
        is_over = self.state.is_terminal()
        self.terminations = dict.fromkeys(self.agents, is_over)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        player = 0 if is_over else self._on_turn()
        self.agent_selection = self.possible_agents[player]
        if not is_over:
            mask = numpy.asarray(self.state.legal_actions_mask(player), numpy.int8)
            self.infos[self.agent_selection] = {"action_mask": mask}

    def _on_turn(self) -> int:
        """Return the player to act; for simultaneous moves, the first player without a choice."""
        if not self.state.is_simultaneous_node():
            return int(self.state.current_player())
        return next(player for player in self._movers() if player not in self._choices)

    def _movers(self) -> list[int]:
        return [player for player in self._numbers.values() if self.state.legal_actions(player)]

    def _play(self, player: int, action: int) -> None:
        """Play an action; simultaneous moves are played once all players have chosen."""
        if not self.state.is_simultaneous_node():
            self.state.apply_action(action)
            return
        self._choices[player] = action
        if len(self._choices) == len(self._movers()):
            no_action = pyspiel.INVALID_ACTION
            self.state.apply_actions(
                [self._choices.get(number, no_action) for number in self._numbers.values()]
            )
            self._choices = {}

    def _moves_of(self, player: int) -> list[str]:
        return [str(pair.action) for pair in self.state.full_history() if pair.player == player]
