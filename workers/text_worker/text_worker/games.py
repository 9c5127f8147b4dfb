"""The games by id ("TextArena/TicTacToe-v0"), made with their own keywords as settings."""

from __future__ import annotations

import difflib
import importlib
from typing import Any, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, check_settings

from .text_game import TextGame

PREFIX = "TextArena/"
_NO_FILES = (  # they need word lists, puzzles or packages that do not come along
    *("BabyAiText", "Codenames", "DontSayIt", "Hangman", "LetterAuction", "ScorableGames", "SpellingBee"),
    *("UsedCar", "WordChains", "WordLadder", "WordSearch", "Wordle"),
)
_ASK_A_MODEL = ("Debate", "GuessWho", "ScenarioPlanning", "TwentyQuestions")  # on a server, as the jury
_NEED_PYTHON_312 = ("Checkers", "Chess-", "IteratedStagHunt", "ReverseTicTacToe", "UltimateTexasHoldem")
_BROKEN = (  # they fail at their first move, or at an illegal one, or (Taboo) do not follow the seed
    *("CharacterConclave", "Countdown", "Cryptarithm", "Klondike", "Slitherlink", "SpiteAndMalice"),
    "Taboo-v0-full",
)
_SLOW = ("RushHour", "Sokoban-v0-medium", "Sudoku-v0-hard")  # minutes until there is a puzzle
_LEFT_OUT = (*_NO_FILES, *_ASK_A_MODEL, *_NEED_PYTHON_312, *_BROKEN, *_SLOW)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> TextGame:
    """Make a game, with `settings` as keywords; "num_players" is how many play, as few as can by default.

    Raises `ConfigError` for an unknown id, with those near to it, and for settings that the game does not
    have or refuses; ValueError with a render mode.
    """
    games = _games()
    if env_id not in games:
        near = difflib.get_close_matches(env_id, games, n=3)
        raise ConfigError(
            f"TextArena has no game {env_id!r} that is played here."
            + (f" Did you mean {' or '.join(near)}?" if near else "")
            + " `mosaic-lab workers list text` shows those that there are"
        )
    module, _, name = games[env_id].entry_point.partition(":")
    check_settings(env_id, settings, getattr(importlib.import_module(module), name), also=["num_players"])
    if render_mode is not None:
        raise ValueError("the games of TextArena are played in text only")
    return TextGame(env_id.removeprefix(PREFIX), settings)


def known() -> list[str]:
    """Return the ids of all games that are played without a network."""
    return sorted(_games())


def facts_of(env: TextGame, agent: str) -> EnvironmentFacts:
    """Return the facts of one agent of a game from `make`."""
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
    """Return TextArena's registrations by id: each game with its own text, not the variants of these."""
    from textarena.envs.registration import ENV_REGISTRY

    return {
        PREFIX + name: spec
        for name, spec in ENV_REGISTRY.items()
        if not name.endswith(("-raw", "-train")) and not name.startswith(_LEFT_OUT)
    }
