"""TextArena's games by id ("TextArena/TicTacToe-v0"), with their own keywords as settings.

Each is an environment with PettingZoo's turn-based interface (AEC).
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import random
import re
import string
from typing import Any, ClassVar, Collection, Mapping

import textarena
from gymnasium import spaces
from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, TurnBasedGame, check_settings

PREFIX = "TextArena/"
_MAX_ACTION = 10_000  # characters of an action
_MAX_TEXT = 1 << 20  # characters of an observation
_MAX_PLAYERS = 15
_IN_BRACKETS = re.compile(r"\[[^\[\]\n]{1,60}\]")
_SPEAKERS = re.compile(r"\[(GAME|Player \d+|player \d+)\]")
_NEED_FILES = (
    *("Codenames", "DontSayIt", "Hangman", "LetterAuction", "ScorableGames", "SpellingBee", "UsedCar"),
    *("WordChains", "WordLadder", "WordSearch", "Wordle"),
)
_UNAVAILABLE = {  # by prefix of the games' names
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
            f"{_rejection(env_id, games)} `mosaic-lab workers list text` lists the games that are played here"
        )
    module, _, name = games[env_id].entry_point.partition(":")
    check_settings(env_id, settings, getattr(importlib.import_module(module), name), also=["num_players"])
    if render_mode is not None:
        raise ValueError("the games of TextArena are played in text only")
    return TextGame(env_id.removeprefix(PREFIX), settings)


def _rejection(env_id: str, games: Collection[str]) -> str:
    name = env_id.removeprefix(PREFIX)
    for beginning, reason in _UNAVAILABLE.items():
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
        if not name.endswith(("-raw", "-train")) and not name.startswith(tuple(_UNAVAILABLE))
    }


class AnyText(spaces.Text):
    """Strings of any characters, up to a length."""

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length


class TextGame(TurnBasedGame):
    """A game with agents "player_0", "player_1", ….

    Observations and actions are strings; rewards are given at the end.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "textarena", "render_modes": []}
    render_mode = None

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._settings = dict(settings)
        count = self._settings.pop("num_players", None)
        self._env = self._make_game()
        self._count = self._min_players() if count is None else self._validated(count)
        super().__init__(self._count)
        self._observation_space = AnyText(_MAX_TEXT, min_length=0, charset=string.printable)
        self._action_space = AnyText(_MAX_ACTION, min_length=0, charset=string.printable)

    @property
    def unwrapped(self) -> Any:
        return self._env

    def observation_space(self, agent: str) -> Any:
        return self._observation_space

    def action_space(self, agent: str) -> Any:
        return self._action_space

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self._env = self._make_game()  # some games keep state of the previous one
        random.seed(seed)  # the generator used by the games
        self._env.reset(num_players=self._count, seed=seed)
        self.agents = list(self.possible_agents)
        self._texts = dict.fromkeys(self.agents, "")
        self._update(done=False)

    def play(self, action: str | None) -> None:
        done, _ = self._env.step(str(action))
        self._update(bool(done))

    def observe(self, agent: str) -> str:
        """Return the text shown to an agent up to its latest turn."""
        return self._texts[agent][-_MAX_TEXT:]

    def _update(self, done: bool) -> None:
        rewards = (self._env.close()[0] or {}) if done else {}
        self.rewards = {agent: float(rewards.get(number, 0.0)) for agent, number in self._numbers.items()}
        self.terminations = dict.fromkeys(self.agents, done)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        if done:
            self.agent_selection = self.agents[0]
            return
        number, text = self._env.get_observation()
        self.agent_selection = agent = self.possible_agents[number]
        self._texts[agent] = str(text)
        self.infos[agent] = {"legal_moves": moves_in(str(text))}

    def _make_game(self) -> Any:
        return textarena.make(self.name, **self._settings)

    def _validated(self, count: Any) -> int:
        """Return a valid number of players. Raises `ConfigError` if the game does not start with it."""
        try:
            self._env.reset(num_players=count, seed=0)
        except Exception as error:  # a game may raise anything
            raise ConfigError(f"{self.name} cannot be played with num_players={count!r}: {error}") from None
        return int(count)

    def _min_players(self) -> int:
        """Return the game's minimum number of players. Many games start with one player and then fail."""
        for count in range(1, _MAX_PLAYERS + 1):
            with contextlib.suppress(Exception):  # raised for an unsupported number of players
                self._env.reset(num_players=count, seed=0)
                if count > 1 or isinstance(self._env.state, textarena.SinglePlayerState):
                    return count
        raise ConfigError(f"{self.name} begins with no number of players from 1 to {_MAX_PLAYERS}")


def moves_in(text: str) -> list[str]:
    """Return the distinct moves in square brackets in `text`, in order."""
    moves = _IN_BRACKETS.findall(_SPEAKERS.sub("", text))
    return list(dict.fromkeys(moves))
