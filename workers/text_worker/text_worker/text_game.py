"""TextArena games as environments with PettingZoo's turn-based interface (AEC)."""

from __future__ import annotations

import contextlib
import random
import re
import string
from typing import Any, ClassVar, Mapping

import textarena
from gymnasium import spaces
from mosaic_contract import ConfigError
from mosaic_contract.arena import TurnBasedGame

_LONGEST = 10_000  # characters of an action
_MOST_TEXT = 1 << 20  # characters of an observation
_MOST_PLAYERS = 15
_IN_BRACKETS = re.compile(r"\[[^\[\]\n]{1,60}\]")
_SPEAKERS = re.compile(r"\[(GAME|Player \d+|player \d+)\]")


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
        self._env = self._made()
        self._count = self._fewest() if count is None else self._checked(count)
        super().__init__(self._count)
        self._observation_space = AnyText(_MOST_TEXT, min_length=0, charset=string.printable)
        self._action_space = AnyText(_LONGEST, min_length=0, charset=string.printable)

    @property
    def unwrapped(self) -> Any:
        return self._env

    def observation_space(self, agent: str) -> Any:
        return self._observation_space

    def action_space(self, agent: str) -> Any:
        return self._action_space

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self._env = self._made()  # some games keep state of the previous one
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
        return self._texts[agent][-_MOST_TEXT:]

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

    def _made(self) -> Any:
        return textarena.make(self.name, **self._settings)

    def _checked(self, count: Any) -> int:
        """Return a valid number of players. Raises `ConfigError` if the game does not start with it."""
        try:
            self._env.reset(num_players=count, seed=0)
        except Exception as error:  # a game may raise anything
            raise ConfigError(f"{self.name} cannot be played with num_players={count!r}: {error}") from None
        return int(count)

    def _fewest(self) -> int:
        """Return the game's minimum number of players. Many games start with one player and then fail."""
        for count in range(1, _MOST_PLAYERS + 1):
            with contextlib.suppress(Exception):  # raised for an unsupported number of players
                self._env.reset(num_players=count, seed=0)
                if count > 1 or isinstance(self._env.state, textarena.SinglePlayerState):
                    return count
        raise ConfigError(f"{self.name} begins with no number of players from 1 to {_MOST_PLAYERS}")


def moves_in(text: str) -> list[str]:
    """Return the distinct moves in square brackets in `text`, in order."""
    moves = _IN_BRACKETS.findall(_SPEAKERS.sub("", text))
    return list(dict.fromkeys(moves))
