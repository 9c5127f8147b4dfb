"""NetHack (nle) and MiniHack as text: message, visible objects by distance and direction, map, inventory.

Neither accepts seeds at reset, so they are set before it. Action names follow BALROG; a letter or a digit is
the key of that name, which answers the game's questions.
"""

from __future__ import annotations

import importlib
from typing import Any, Sequence

import gymnasium
import numpy
from gymnasium import spaces
from mosaic_contract.language.balrog import DEFAULT_ACTIONS
from nle import nethack
from nle.env.base import NLE

from ..games import HISTORY_FOLLOWS, listed
from .nethack_actions import COMMANDS, COMPASS, MINIHACK_COMMANDS, NETHACK_HINTS, OTHERS
from .text_environment import TextEnvironment

_MORE = "--More--"
_MOST_MORE = 20  # pages per message
_SENT = (
    "glyphs",
    "chars",
    "colors",
    "specials",
    "blstats",
    "message",
    "inv_glyphs",
    "inv_strs",
    "inv_letters",
)
_READ = (*_SENT, "tty_chars", "tty_cursor", "screen_descriptions")
_MOST_SEED = 1 << 62  # safely within the range of NLE's generators
_PLAIN = ("", "dark part of a room", "floor of a room", "stone", "unexplored")
_WORDS = ("adjacent", "near", "far", "very far")
_REACH = (1, 5, 15)  # maximum steps for the first three of these words
_EIGHTHS = ("east", "southeast", "south", "southwest", "west", "northwest", "north", "northeast")
_MOST = 40
_DEPTHS = (  # dungeon levels 1 to 50
    0.0, 0.01539, 0.01754, 0.02122, 0.02648, 0.03543, 0.04846, 0.06958, 0.09771, 0.12559, 0.16127, 0.20613,
    0.2566, 0.29247, 0.30881, 0.32491, 0.34008, 0.35265, 0.36549, 0.37896, 0.39294, 0.40832, 0.42584,
    0.44518, 0.46638, 0.50676, 0.55436, 0.60156, 0.6465, 0.69131, 0.71011, 0.71765, 0.72321, 0.72844,
    0.73278, 0.73685, 0.74215, 0.74713, 0.75373, 0.76104, 0.76741, 0.77253, 0.77716, 0.78126, 0.7859,
    0.78903, 0.79297, 0.79674, 0.80185, 0.8068,
)  # fmt: skip
_EXPERIENCE = (  # experience levels 1 to 30
    0.0, 0.01848, 0.02081, 0.02416, 0.02911, 0.03689, 0.05076, 0.07454, 0.11705, 0.1791, 0.2548, 0.33265,
    0.41443, 0.49404, 0.57788, 0.62612, 0.65628, 0.68102, 0.70153, 0.71745, 0.7287, 0.7371, 0.74434,
    0.75134, 0.75855, 0.76422, 0.77034, 0.77598, 0.77833, 0.78046,
)  # fmt: skip
_DEPTH, _LEVEL = 12, 18  # indices in NLE's blstats


class NetHack(TextEnvironment):
    """One of NLE's tasks. `no_progress_timeout`: steps without game time after which the Challenge ends;
    `skip_more`: combine all pages of a message in one observation."""

    default_action = DEFAULT_ACTIONS["nle"]

    def __init__(
        self,
        task: str,
        max_episode_steps: int = 100_000,
        character: str = "@",
        no_progress_timeout: int = 150,
        skip_more: bool = True,
    ) -> None:
        options = {"no_progress_timeout": no_progress_timeout} if "Challenge" in task else {}
        self._open(task, skip_more, max_episode_steps=max_episode_steps, character=character, **options)
        self.instructions = (
            "You play NetHack. These are your possible actions, with what they"
            f" do:\n\n{listed(self._offered())}\n\nHints:\n{NETHACK_HINTS}\n\n{HISTORY_FOLLOWS} Your goal is"
            " to get as far in the game as you can."
        )

    def _open(self, task: str, skip_more: bool, **keywords: Any) -> None:
        spec = gymnasium.registry[task]
        module, _, name = str(spec.entry_point).partition(":")
        make = getattr(importlib.import_module(module), name)  # gymnasium.make drops max_episode_steps
        self._env = make(
            **{**spec.kwargs, "observation_keys": _READ, "render_mode": "pixel", **keywords},
            fix_moon_phase=True,
            savedir=None,
        )
        for refusal in ("set_initial_seeds", "set_current_seeds", "get_current_seeds"):
            vars(self._env.nethack).pop(refusal, None)  # set by the Challenge for its competition
        self._skip_more = skip_more
        keys = list(self._env.actions)
        words = [_word(key) for key in keys]
        self._numbers = [number for number, word in enumerate(words) if self._may(word, keys[number])]
        self.action_names = tuple(words[number] for number in self._numbers)
        keyboard = {chr(int(keys[number])): place for place, number in enumerate(self._numbers)}
        self.aliases = {key: place for key, place in keyboard.items() if self._typed(key)}
        self._more = next((number for number, word in enumerate(words) if word == "more"), None)
        self.action_space = spaces.Discrete(len(self._numbers))
        self.observation_space = spaces.Dict({name: self._env.observation_space[name] for name in _SENT})

    def _may(self, word: str, key: Any) -> bool:
        return key in nethack.USEFUL_ACTIONS or word in OTHERS

    def _typed(self, key: str) -> bool:
        """Return whether an action may also be named by its key."""
        return key.isascii() and key.isalnum()

    def _offered(self) -> dict[str, str]:
        meanings = {**COMPASS, **COMMANDS}
        return {
            name: meanings.get(name, f"the command {name} of the game") for name in self.action_names or ()
        }

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            NLE.seed(self._env, seed % _MOST_SEED, seed % _MOST_SEED, False)  # the Challenge rejects seeds
        observation, _ = self._env.reset()
        self.progression = 0.0
        self._progress = NetHackProgress()
        self._read(observation, _message(observation))
        self._note(observation, 0.0)
        return self._sent(observation), self.progress_info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self._env.step(self._numbers[action])
        message, pages = _message(observation), 1
        while self._has_more_pages(message, pages) and not (terminated or truncated):
            observation, more, terminated, truncated, info = self._env.step(self._more)
            reward, pages = reward + more, pages + 1
            message = message.replace(_MORE, "\n") + _message(observation)
        self._read(observation, message)
        self._note(observation, float(reward))
        ended = str(getattr(info.get("end_status"), "name", ""))
        truncated = bool(truncated or ended == "ABORTED")
        about = {"end_status": ended, **self.progress_info()}
        return self._sent(observation), float(reward), bool(terminated) and not truncated, truncated, about

    def render(self) -> Any:
        return numpy.asarray(self._env.render(), numpy.uint8)

    def close(self) -> None:
        self._env.close()

    def _has_more_pages(self, message: str, pages: int) -> bool:
        return self._skip_more and self._more is not None and _MORE in message and pages < _MOST_MORE

    def _note(self, observation: Any, reward: float) -> None:
        self.progression = self._progress.after(observation["blstats"])

    def _sent(self, observation: Any) -> dict[str, Any]:
        return {name: observation[name] for name in _SENT}

    def _read(self, observation: Any, message: str) -> None:
        rows = [bytes(row).decode("latin-1").rstrip() for row in observation["tty_chars"]]
        cursor = f"x={observation['tty_cursor'][1]}, y={observation['tty_cursor'][0]}"
        parts = {
            "message": message.strip(),
            "in sight": visible_things(observation["screen_descriptions"], observation["blstats"]),
            "cursor": cursor,
            "map": "\n".join(rows[1:]),
        }
        self.long_term = "\n\n".join(f"{name}:\n{text}" for name, text in parts.items())
        self.short_term = f"inventory:\n{_inventory(observation)}"


class MiniHack(NetHack):
    """One of MiniHack's tasks: done (1) or not (0)."""

    default_action = DEFAULT_ACTIONS["minihack"]

    def __init__(
        self,
        task: str,
        max_episode_steps: int = 100,
        character: str = "@",
        penalty_step: float = -0.01,
        penalty_time: float = 0.0,
        autopickup: bool = False,
        skip_more: bool = True,
    ) -> None:
        self._open(
            task,
            skip_more,
            max_episode_steps=max_episode_steps,
            character=character,
            penalty_step=penalty_step,
            penalty_time=penalty_time,
            penalty_mode="constant",
            autopickup=autopickup,
        )
        self.instructions = (
            "You play MiniHack. These are your possible actions, with what they"
            f" do:\n\n{listed(self._offered())}\n\n{HISTORY_FOLLOWS}\n\nHint: an action that changed nothing"
            f" will not do so when it is repeated.\n\n{_goal(task)}"
        )

    def _may(self, word: str, key: Any) -> bool:
        return word in COMPASS or word in MINIHACK_COMMANDS

    def _typed(self, key: str) -> bool:
        return False

    def _note(self, observation: Any, reward: float) -> None:
        self.progression = float(reward >= 1.0)


def _goal(task: str) -> str:
    """Return the task's goal as stated by BALROG."""
    name = task.lower()
    if "corridor" in name:
        return "Your goal is to explore the level and to reach the stairs down."
    if "quest" in name:
        return (
            "Your goal is to explore the level, to fight monsters, and to find the way through rooms and"
            " mazes to the stairs down."
        )
    return "Your goal is to get as far in the game as you can."


def _word(key: Any) -> str:
    """Return the name of one of NLE's actions."""
    kind, name = type(key).__name__, str(key.name)
    if kind.startswith("Compass"):
        word = "".join(
            word for letter, word in zip("NSEW", ("north", "south", "east", "west")) if letter in name
        )
        return f"far {word}" if kind.endswith("Longer") else word
    return name.removeprefix("NUM_").lower()


def _message(observation: Any) -> str:
    """Return the message: the screen's first row, or all rows through the first one with "--More--"."""
    rows: Sequence[str] = [bytes(row).decode("latin-1").rstrip() for row in observation["tty_chars"]]
    last = next((number for number, row in enumerate(rows) if _MORE in row), 0)
    return "\n".join(row.strip() for row in rows[: last + 1])


def _inventory(observation: Any) -> str:
    lines = [
        f"{chr(letter)}: {bytes(text).split(bytes(1))[0].decode('latin-1')}"
        for letter, text in zip(observation["inv_letters"], observation["inv_strs"])
        if letter
    ]
    return "\n".join(lines) or "nothing"


def visible_things(descriptions: Any, blstats: Any) -> str:
    """Return a line for each kind of object, the nearest first: `descriptions` (21, 79, 80) describes each
    place, `blstats` gives the agent's position."""
    x, y = int(blstats[0]), int(blstats[1])
    nearest: dict[str, tuple[int, int, int, int]] = {}
    counts: dict[str, int] = {}
    for row, column in numpy.argwhere(descriptions[:, :, 0]).tolist():
        text = bytes(descriptions[row, column]).split(b"\0")[0].decode("latin-1")
        if text in _PLAIN or (row, column) == (y, x):
            continue
        right, down = column - x, row - y
        place = (max(abs(right), abs(down)), right * right + down * down, right, down)
        nearest[text] = min(nearest.get(text, place), place)
        counts[text] = counts.get(text, 0) + 1
    lines = []
    for text, (distance, _, right, down) in sorted(nearest.items(), key=lambda item: item[1])[:_MOST]:
        several = f", {counts[text]} on the map" if counts[text] > 1 else ""
        lines.append(f"{text}: {_how_far(distance)} {_direction(right, down)}{several}")
    return "\n".join(lines) or "nothing"


def _how_far(distance: int) -> str:
    return _WORDS[sum(distance > reach for reach in _REACH)]


def _direction(right: int, down: int) -> str:
    return _EIGHTHS[round(float(numpy.arctan2(down, right)) / (numpy.pi / 4)) % 8]


class NetHackProgress:
    """The maximum progress in a game, 0 to 1, on BALROG's scale.

    The scale is empirical: the share of human games that reached a dungeon level or an experience level and
    then went on to win, as published with BALROG (balrog/environments/nle/achievements.json), to five digits.
    """

    def __init__(self) -> None:
        self.reached = 0.0

    def after(self, blstats: Any) -> float:
        """Update with a state of the game, and return the maximum progress."""
        depth, level = int(blstats[_DEPTH]), int(blstats[_LEVEL])
        for reached, scale in ((depth, _DEPTHS), (level, _EXPERIENCE)):
            if 1 <= reached <= len(scale):
                self.reached = max(self.reached, scale[reached - 1])
        return self.reached
