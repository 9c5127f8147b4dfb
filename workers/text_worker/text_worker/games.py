"""TextArena's games by id ("TextArena/TicTacToe-v0"), with their own keywords as settings."""

from __future__ import annotations

import difflib
import importlib
from typing import Any, Collection, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, check_settings

from .text_game import TextGame

PREFIX = "TextArena/"
_NEED_FILES = (
    *("Codenames", "DontSayIt", "Hangman", "LetterAuction", "ScorableGames", "SpellingBee", "UsedCar"),
    *("WordChains", "WordLadder", "WordSearch", "Wordle"),
)
_LEFT_OUT = {  # by prefix of the games' names
    **dict.fromkeys(_NEED_FILES, "it needs word lists or puzzles from the network"),
    "BabyAiText": "it needs the old gym",
    **dict.fromkeys(
        ("Debate", "GuessWho", "ScenarioPlanning", "TwentyQuestions"),
        "it queries a language model on a server, as the jury",
    ),
    **dict.fromkeys(
        ("Checkers", "Chess-", "IteratedStagHunt", "ReverseTicTacToe", "UltimateTexasHoldem"),
        "it needs Python 3.12",
    ),
    **dict.fromkeys(
        ("CharacterConclave", "Countdown", "Cryptarithm", "Klondike", "Slitherlink", "SpiteAndMalice"),
        "it fails at its first move, or at an illegal one",
    ),
    "Taboo-v0-full": "it does not follow the seed",
    **dict.fromkeys(("RushHour", "Sokoban-v0-medium", "Sudoku-v0-hard"), "it takes minutes to make a puzzle"),
}
"""Reasons why games are unavailable."""


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> TextGame:
    """Create a game, with `settings` as keywords; "num_players" defaults to the game's minimum.

    Raises `ConfigError` for an unknown id, with similar ids, and for settings that the game does not have or
    rejects; ValueError with a render mode.
    """
    games = _games()
    if env_id not in games:
        raise ConfigError(
            f"{_why_not(env_id, games)} `mosaic-lab workers list text` lists the games that are played here"
        )
    module, _, name = games[env_id].entry_point.partition(":")
    check_settings(env_id, settings, getattr(importlib.import_module(module), name), also=["num_players"])
    if render_mode is not None:
        raise ValueError("the games of TextArena are played in text only")
    return TextGame(env_id.removeprefix(PREFIX), settings)


def _why_not(env_id: str, games: Collection[str]) -> str:
    name = env_id.removeprefix(PREFIX)
    for beginning, reason in _LEFT_OUT.items():
        if name.startswith(beginning):
            return f"{env_id!r} is not played here: {reason}."
    near = difflib.get_close_matches(env_id, games, n=3)
    return f"TextArena has no game {env_id!r}." + (f" Did you mean {' or '.join(near)}?" if near else "")


def known() -> list[str]:
    """Return the ids of all games that need no network."""
    return sorted(_games())


def facts_of(env: TextGame, agent: str) -> EnvironmentFacts:
    """Return information about one agent of a game from `make`."""
    count = len(env.possible_agents)
    seat = f" You are player {env.number_of(agent)} of 0 to {count - 1}." if count > 1 else ""
    return EnvironmentFacts(
        team="",
        instructions=(
            f"The game is {env.name} of TextArena.{seat} The text that you are shown begins with its rules,"
            " and says what a move looks like: most are in square brackets. An action is one text, your move."
        ),
        describe=lambda: {"text": env.observe(agent)},
    )


def _games() -> dict[str, Any]:
    """Return TextArena's registrations by id: each game with its own text, without variants."""
    from textarena.envs.registration import ENV_REGISTRY

    return {
        PREFIX + name: spec
        for name, spec in ENV_REGISTRY.items()
        if not name.endswith(("-raw", "-train")) and not name.startswith(tuple(_LEFT_OUT))
    }
