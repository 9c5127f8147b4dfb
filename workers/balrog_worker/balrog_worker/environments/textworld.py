"""BALROG's three TextWorld tasks. Games are created once per seed and cached for the user."""

from __future__ import annotations

import os
import string
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from gymnasium import spaces
from mosaic_contract.language.balrog import DEFAULT_ACTIONS

from ..games import HISTORY_FOLLOWS, listed
from .text_environment import TextEnvironment

_GAMES = {  # from BALROG's documentation: rooms, length of the shortest solution, options
    "treasure_hunter": ("tw-treasure_hunter", "--level", "30"),
    "the_cooking_game": (
        *("tw-cooking", "--recipe", "5", "--take", "5", "--go", "12"),
        *("--open", "--cook", "--cut", "--drop"),
    ),
    "coin_collector": ("tw-coin_collector", "--level", "120"),
}
_MAKING_SECONDS = 300
_MAX_ACTION = 198  # bytes of an action, the size of the interpreter's buffer
_MAX_TEXT = 20_000  # characters of an observation

_MOVING = {
    "look": "describe the room",
    "goal": "print the goal of the game",
    "inventory": "list what you carry",
    "go <dir>": "go north, east, south or west, where there is an exit or an open door",
    "open ...": "open a door or a container; a closed door has to be opened before you can pass",
    "drop ...": "put something on the floor",
    "take ...": "take something that you can see",
    "put ... on ...": "put something on a supporter",
    "take ... from ...": "take something from a container or a supporter",
    "insert ... into ...": "put something into a container",
    "unlock ... with ...": "unlock a door or a container with its key",
}
_COOKING = {
    "examine ...": "look at something more closely",
    "eat ...": "eat something edible",
    "lock ... with ...": "lock a door or a container with its key",
    "cook ... with ...": "cook an ingredient with a source of heat",
    "slice ... with ...": "slice an ingredient with something sharp",
    "chop ... with ...": "chop an ingredient with something sharp",
    "dice ... with ...": "dice an ingredient with something sharp",
    "prepare meal": "make a meal of the ingredients that you carry; only in the kitchen",
}
_INSTRUCTIONS = {
    "treasure_hunter": (
        "You are in a maze of rooms, and have to find and take a certain object.",
        _MOVING,
        (
            "The object may be in a closed or locked container. A key fits what has the same adjective, and"
            " may be in another room or in a container: take every key. What you unlocked still has to be"
            " opened."
        ),
    ),
    "the_cooking_game": (
        (
            "You have to find the recipe, find and prepare the food as it says, then prepare the meal and"
            " eat it."
        ),
        {**_MOVING, **_COOKING},
        (
            "Examine the cookbook to read the recipe. A BBQ grills, a stove fries, an oven roasts; an"
            " ingredient that is cooked in another way loses the game. To cook, have the ingredient with you"
            " and the appliance in the room. Cut (with a knife that you carry) before you cook. Take"
            " ingredients of exactly the colour that the recipe names, any colour where it names none, and"
            " call things by their exact names."
        ),
    ),
    "coin_collector": (
        "You are in a maze of rooms, and have to find a coin and take it.",
        {name: _MOVING[name] for name in ("goal", "go <dir>")}
        | {"take coin": "take the coin, where you see it"},
        "All that you need is to go from room to room, and to take the coin when you see it.",
    ),
}
LIMIT_BYTES = 1 << 30  # of the cache: the least recently used games are removed if it grows larger


class TextWorld(TextEnvironment):
    """One of the tasks; any string is an action. The task says what to find; the solution at the beginning of
    upstream's games is removed."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    render_mode = None
    default_action = DEFAULT_ACTIONS["textworld"]

    def __init__(self, task: str, max_episode_steps: int = 80) -> None:
        self._task, self._max_steps = task, max_episode_steps
        self._env: Any = None
        self.observation_space = spaces.Text(_MAX_TEXT, min_length=0)
        self.action_space = spaces.Text(_MAX_ACTION, min_length=0, charset=string.printable)
        goal, commands, hints = _INSTRUCTIONS[task]
        self.instructions = (
            f"You play TextWorld, an adventure in text: rooms, things and puzzles. {goal} These are the"
            f" commands:\n\n{listed(commands)}\n\n{hints}\n\nYou have {max_episode_steps} steps; the game"
            f" cannot be restarted.\n\n{HISTORY_FOLLOWS}"
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        self.close()
        self._env = _make_game(game_file(self._task, seed or 0), self._max_steps)
        text, info = self._env.reset()
        self.progression, self._steps = 0.0, 0
        return self._text(text, info), self._info(info)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        text, reward, done, info = self._env.step(_typed(str(action)))
        self._steps += 1
        self.progression = 1.0 if info["won"] else max(0.0, info["score"] / info["max_score"])
        ended = bool(info["won"] or info["lost"])
        return self._text(text, info), float(reward), ended, bool(done) and not ended, self._info(info)

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None

    def _info(self, info: dict[str, Any]) -> dict[str, Any]:
        """Return the info of a step. Its commands that currently have an effect serve random operators, which
        choose one; BALROG's agents do not see them."""
        return {**self.progress_info(), "legal_moves": sorted(info["admissible_commands"])}

    def _text(self, text: str, info: dict[str, Any]) -> str:
        """Return the game's text without its banner, its solution and the final prompt."""
        description = text.rpartition(info["objective"])[2] if info["objective"] else text
        self.long_term = description.rpartition("\n>")[0].strip() or description.strip()
        return self.long_term[:_MAX_TEXT]


def _typed(action: str) -> str:
    """Return what is typed for an action. The interpreter, Frotz, ends or hangs on some of its own commands,
    which begin with a backslash; control characters are no part of the game's words either."""
    printable = "".join(char if char.isprintable() and char != "\\" else " " for char in action)
    return printable.encode()[:_MAX_ACTION].decode(errors="ignore")


def game_file(task: str, seed: int) -> Path:
    """Return the file of a game, creating it unless cached (8 to 40 s of CPU)."""
    folder = cache_folder(version("textworld"))
    file = folder / f"{task}-{seed}.z8"
    if cached(file):
        return file
    folder.mkdir(parents=True, exist_ok=True)
    challenge, *options = _GAMES[task]
    with tempfile.TemporaryDirectory(dir=folder, prefix="making-") as making:
        new_file = Path(making) / file.name
        command = [str(Path(sys.executable).with_name("tw-make")), challenge, *options, "--seed", str(seed)]
        try:
            process = subprocess.run(
                [*command, "--output", str(new_file), "--silent"],
                env={**os.environ, "HOME": making},  # upstream's compiler writes to the home folder
                capture_output=True,
                text=True,
                timeout=_MAKING_SECONDS,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(
                f"tw-make made no game of {task} for seed {seed} within {_MAKING_SECONDS} s: "
                "take another seed, or a machine with more time"
            ) from None
        if process.returncode or not new_file.exists():
            raise RuntimeError(
                f"tw-make made no game for seed {seed}: {(process.stderr or process.stdout)[-800:]}"
            )
        for suffix in (".json", ".z8"):  # the game last: its existence marks a complete entry
            new_file.with_suffix(suffix).replace(file.with_suffix(suffix))
    prune(folder)
    return file


def _make_game(file: Path, max_steps: int) -> Any:
    import textworld
    import textworld.gym

    infos = textworld.EnvInfos(
        objective=True, score=True, max_score=True, won=True, lost=True, admissible_commands=True
    )
    return textworld.gym.make(textworld.gym.register_game(str(file), infos, max_episode_steps=max_steps))


def cache_folder(version: str) -> Path:
    """Return the cache folder for the games of one TextWorld version."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "mosaic-lab" / "textworld" / version


def cached(file: Path) -> bool:
    """Return whether a game is cached, and mark it as used."""
    if not (file.exists() and file.with_suffix(".json").exists()):
        return False
    try:
        os.utime(file)
    except FileNotFoundError:  # removed by another process meanwhile
        return False
    return True


def prune(folder: Path, limit_bytes: int = LIMIT_BYTES) -> None:
    """Remove the least recently used games until at most ``limit_bytes`` remain, but keep the latest one."""
    games = []
    for file in folder.glob("*.z8"):
        try:
            description = file.with_suffix(".json")
            games.append((file.stat().st_mtime, file.stat().st_size + description.stat().st_size, file))
        except FileNotFoundError:
            continue
    total = sum(size for _, size, _ in games)
    for _, size, file in sorted(games)[:-1]:
        if total <= limit_bytes:
            break
        for path in (file, file.with_suffix(".json")):  # the game first: its existence marks a complete entry
            path.unlink(missing_ok=True)
        total -= size
