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
from .text_environment import TextEnvironment

_MORE = "--More--"
_MAX_PAGES = 20  # pages per message
_KEYS = (
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
_READ_KEYS = (*_KEYS, "tty_chars", "tty_cursor", "screen_descriptions")
_MAX_SEED = 1 << 62  # safely within the range of NLE's generators
_UNREMARKABLE = ("", "dark part of a room", "floor of a room", "stone", "unexplored")
_DISTANCE_WORDS = ("adjacent", "near", "far", "very far")
_MAX_DISTANCES = (1, 5, 15)  # in steps, of the first three of these words
_COMPASS_POINTS = ("east", "southeast", "south", "southwest", "west", "northwest", "north", "northeast")
_MAX_VISIBLE = 40
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

_DIRECTIONS = ("north", "east", "south", "west", "northeast", "southeast", "southwest", "northwest")

_COMPASS = {
    **{name: f"move {name}" for name in _DIRECTIONS},
    **{f"far {name}": f"move {name} until something is in the way" for name in _DIRECTIONS},
    "up": "go up the stairs that you stand on",
    "down": "go down the stairs that you stand on",
    "wait": "do nothing for one move",
    "more": "show the rest of the message, where it ends with --More--",
}

_ANSWER_KEYS = ("more", "minus", "space", "apos", *map(str, range(10)))
"""Keys that answer the game's questions, in addition to the commands."""

_COMMANDS = {
    "annotate": "write a note about this level",
    "apply": "use a tool",
    "call": "give a name to a monster, an object or a level",
    "cast": "cast a spell",
    "close": "close a door next to you",
    "dip": "dip one object into another",
    "drop": "drop an object",
    "droptype": "drop objects of the kinds that you then choose",
    "eat": "eat something, which you need when you are hungry",
    "engrave": "write on the floor; Elbereth keeps many monsters away",
    "enhance": "look at your weapon skills, and advance them",
    "esc": "leave a menu, a message or a question",
    "fight": "attack in a direction, even where you only suspect a monster",
    "fire": "shoot what is in your quiver",
    "force": "force a lock open",
    "inventory": "list what you carry",
    "invoke": "use the special power of an object",
    "jump": "jump to another place",
    "kick": "kick a monster, a door, a chest",
    "look": "look at what lies under you",
    "loot": "open a box on the floor",
    "monster": "use the special ability of the monster that you have become",
    "offer": "sacrifice something on an altar",
    "open": "open a door next to you",
    "overview": "list what you know of the dungeon",
    "pay": "pay what you owe in a shop",
    "pickup": "pick up what lies here",
    "pray": "ask the gods for help",
    "puton": "put on a ring or an amulet",
    "quaff": "drink something",
    "quiver": "choose what to shoot",
    "read": "read a scroll or a spellbook",
    "remove": "take off a ring or an amulet",
    "rub": "rub a lamp or a stone",
    "search": "search for hidden doors and passages around you",
    "swap": "change between your two weapons",
    "takeoff": "take off one piece of armour",
    "takeoffall": "take off all armour",
    "teleport": "teleport, if you can",
    "throw": "throw something",
    "travel": "walk to a place: answer with > or < for stairs, _ for an altar",
    "twoweapon": "begin or stop to fight with two weapons",
    "untrap": "disarm a trap",
    "wear": "put on armour",
    "wield": "take a weapon in hand",
    "wipe": "wipe your face",
    "zap": "use a wand",
}

_MINIHACK_COMMANDS = frozenset(
    [
        "apply",
        "close",
        "open",
        "eat",
        "force",
        "kick",
        "loot",
        "pickup",
        "pray",
        "puton",
        "quaff",
        "search",
        "zap",
    ]
)

_NETHACK_HINTS = """\
- A question such as "What do you want to eat? [dgh or ?*]" is answered with one character: d, g or h.
- A question for a direction is answered with a direction.
- A message that ends with --More-- goes on after the action more.
- Look for the stairs that lead down, and take them.
- The last message says what your last action did: read it first.
- A wall or solid stone stops you: change the direction, and go on exploring.
- The lines of what is in sight and the map say where to go.
- You attack a monster by moving into it."""


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
        self._make_env(task, skip_more, max_episode_steps=max_episode_steps, character=character, **options)
        self.instructions = (
            "You play NetHack. These are your possible actions, with what they"
            f" do:\n\n{listed(self._meanings())}\n\nHints:\n{_NETHACK_HINTS}\n\n{HISTORY_FOLLOWS} Your goal"
            " is to get as far in the game as you can."
        )

    def _make_env(self, task: str, skip_more: bool, **keywords: Any) -> None:
        spec = gymnasium.registry[task]
        module, _, name = str(spec.entry_point).partition(":")
        make = getattr(importlib.import_module(module), name)  # gymnasium.make drops max_episode_steps
        self._env = make(
            **{**spec.kwargs, "observation_keys": _READ_KEYS, "render_mode": "pixel", **keywords},
            fix_moon_phase=True,
            savedir=None,
        )
        for method in ("set_initial_seeds", "set_current_seeds", "get_current_seeds"):
            vars(self._env.nethack).pop(method, None)  # set by the Challenge for its competition
        self._skip_more = skip_more
        keys = list(self._env.actions)
        words = [_word(key) for key in keys]
        self._numbers = [number for number, word in enumerate(words) if self._is_allowed(word, keys[number])]
        self.action_names = tuple(words[number] for number in self._numbers)
        keyboard = {chr(int(keys[number])): index for index, number in enumerate(self._numbers)}
        self.aliases = {key: index for key, index in keyboard.items() if self._is_alias(key)}
        self._more_action = next((number for number, word in enumerate(words) if word == "more"), None)
        self.action_space = spaces.Discrete(len(self._numbers))
        self.observation_space = spaces.Dict({name: self._env.observation_space[name] for name in _KEYS})

    def _is_allowed(self, word: str, key: Any) -> bool:
        return key in nethack.USEFUL_ACTIONS or word in _ANSWER_KEYS

    def _is_alias(self, key: str) -> bool:
        """Return whether an action may also be named by its key."""
        return key.isascii() and key.isalnum()

    def _meanings(self) -> dict[str, str]:
        meanings = {**_COMPASS, **_COMMANDS}
        return {
            name: meanings.get(name, f"the command {name} of the game") for name in self.action_names or ()
        }

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            NLE.seed(self._env, seed % _MAX_SEED, seed % _MAX_SEED, False)  # the Challenge rejects seeds
        observation, _ = self._env.reset()
        self.progression = 0.0
        self._progress = NetHackProgress()
        self._describe(observation, _message(observation))
        self._update_progression(observation, 0.0)
        return self._public(observation), self.progress_info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self._env.step(self._numbers[action])
        message, pages = _message(observation), 1
        while self._has_more_pages(message, pages) and not (terminated or truncated):
            observation, page_reward, terminated, truncated, info = self._env.step(self._more_action)
            reward, pages = reward + page_reward, pages + 1
            message = message.replace(_MORE, "\n") + _message(observation)
        self._describe(observation, message)
        self._update_progression(observation, float(reward))
        ended = str(getattr(info.get("end_status"), "name", ""))
        truncated = bool(truncated or ended == "ABORTED")
        info = {"end_status": ended, **self.progress_info()}
        return self._public(observation), float(reward), bool(terminated) and not truncated, truncated, info

    def render(self) -> Any:
        return numpy.asarray(self._env.render(), numpy.uint8)

    def close(self) -> None:
        self._env.close()

    def _has_more_pages(self, message: str, pages: int) -> bool:
        return self._skip_more and self._more_action is not None and _MORE in message and pages < _MAX_PAGES

    def _update_progression(self, observation: Any, reward: float) -> None:
        self.progression = self._progress.after(observation["blstats"])

    def _public(self, observation: Any) -> dict[str, Any]:
        return {name: observation[name] for name in _KEYS}

    def _describe(self, observation: Any, message: str) -> None:
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
        self._make_env(
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
            f" do:\n\n{listed(self._meanings())}\n\n{HISTORY_FOLLOWS}\n\nHint: an action that changed nothing"
            f" will not do so when it is repeated.\n\n{_goal(task)}"
        )

    def _is_allowed(self, word: str, key: Any) -> bool:
        return word in _COMPASS or word in _MINIHACK_COMMANDS

    def _is_alias(self, key: str) -> bool:
        return False

    def _update_progression(self, observation: Any, reward: float) -> None:
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
    action_class, name = type(key).__name__, str(key.name)
    if action_class.startswith("Compass"):
        word = "".join(
            word for letter, word in zip("NSEW", ("north", "south", "east", "west")) if letter in name
        )
        return f"far {word}" if action_class.endswith("Longer") else word
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
        if text in _UNREMARKABLE or (row, column) == (y, x):
            continue
        right, down = column - x, row - y
        distance_key = (max(abs(right), abs(down)), right * right + down * down, right, down)
        nearest[text] = min(nearest.get(text, distance_key), distance_key)
        counts[text] = counts.get(text, 0) + 1
    lines = []
    for text, (distance, _, right, down) in sorted(nearest.items(), key=lambda item: item[1])[:_MAX_VISIBLE]:
        several = f", {counts[text]} on the map" if counts[text] > 1 else ""
        lines.append(f"{text}: {_distance_word(distance)} {_direction(right, down)}{several}")
    return "\n".join(lines) or "nothing"


def _distance_word(distance: int) -> str:
    return _DISTANCE_WORDS[sum(distance > reach for reach in _MAX_DISTANCES)]


def _direction(right: int, down: int) -> str:
    return _COMPASS_POINTS[round(float(numpy.arctan2(down, right)) / (numpy.pi / 4)) % 8]


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
