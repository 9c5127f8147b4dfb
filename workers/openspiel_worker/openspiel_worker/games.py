"""OpenSpiel's games by id ("OpenSpiel/kuhn_poker"), with OpenSpiel's own parameters as settings."""

from __future__ import annotations

import random
from typing import Any, Callable, Mapping

import pyspiel
from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, check_settings

from .game_environment import GameEnvironment

PREFIX = "OpenSpiel/"
_LEFT_OUT = ("crossword",)  # its word files are not included
_FEW = 24  # maximum number of actions with buttons
_SAMPLE = 300  # steps of random games
_TEAM = "players"

_UTILITIES = {
    pyspiel.GameType.Utility.ZERO_SUM: "What one player wins the others lose.",
    pyspiel.GameType.Utility.CONSTANT_SUM: "The players' returns have a constant sum.",
    pyspiel.GameType.Utility.GENERAL_SUM: "Players may win or lose together.",
    pyspiel.GameType.Utility.IDENTICAL: "All players have the same return: play together.",
}


def ids() -> list[str]:
    return list(_kinds())


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> GameEnvironment:
    """Create a game, with `settings` as its parameters, such as {"players": 3}. Raises `ConfigError` for
    parameters that the game does not have or rejects."""
    kind = _kinds()[env_id]
    check_settings(env_id, settings, _nothing, also=list(kind.parameter_specification))
    try:
        return GameEnvironment(kind, settings, render_mode)
    except (pyspiel.SpielError, TypeError) as error:
        raise ConfigError(f"{env_id} cannot be made with env_kwargs={dict(settings)!r}: {error}") from None


def _kinds() -> dict[str, Any]:
    """Return OpenSpiel's game types by id, without mean field games and games made from another or a file."""
    return {
        PREFIX + kind.short_name: kind
        for kind in pyspiel.registered_games()
        if kind.default_loadable
        and kind.short_name not in _LEFT_OUT
        and kind.dynamics != pyspiel.GameType.Dynamics.MEAN_FIELD
    }


def _nothing() -> None:
    """Accept no keywords: all settings are parameters of the game."""


def facts_of(env: GameEnvironment, agent: str) -> EnvironmentFacts:
    """Return information about one agent of a game from `make`."""
    names = _names(env, agent)
    together = env.kind.utility == pyspiel.GameType.Utility.IDENTICAL and len(env.possible_agents) > 1
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
    if count > _FEW:
        return None
    names: dict[int, str] = {}
    generator, game, steps = random.Random(0), env.copy(), 0
    for seed in range(_SAMPLE):
        game.reset(seed=seed)
        while steps < _SAMPLE and not game.terminations[game.agent_selection]:
            moves = game.legal_moves()
            if game.agent_selection == agent and any(names.setdefault(n, m) != m for m, n in moves.items()):
                return None
            game.step(generator.choice(list(moves.values())))
            steps += 1
    return [names[action] for action in range(count)] if len(names) == count else None


def _initials(names: list[str]) -> dict[str, int] | None:
    """Return the first letter of each name as its key. None, which means digits, unless all differ."""
    keys = [name[0].lower() for name in names]
    if not all(map(str.isalpha, keys)) or len(set(keys)) < len(keys):
        return None
    return {key: action for action, key in enumerate(keys)}


def _instructions(env: GameEnvironment, agent: str) -> str:
    game, count = env.game, len(env.possible_agents)
    parts = [f"The game is {env.kind.long_name}, as OpenSpiel plays it ({env.kind.short_name})."]
    if count > 1:
        parts.append(f"You are player {env.number_of(agent)} of {count} (players 0 to {count - 1}).")
        parts.append(_UTILITIES.get(env.kind.utility, ""))
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
