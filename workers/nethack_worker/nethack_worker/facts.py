"""Information about a game for operators and panels, besides its observations."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from mosaic_contract.arena import EnvironmentFacts

from .environment import NetHackEnvironment

_WINDS = {"N": "north", "S": "south", "E": "east", "W": "west"}
_ARROWS = {"north": "ArrowUp", "east": "ArrowRight", "south": "ArrowDown", "west": "ArrowLeft"}
_KEYS = {"\r": "Enter"}
_TEXT = ("chars", "blstats", "message", "screen_descriptions", "inv_strs", "inv_letters")
_STATUS = {  # of NLE's "blstats", by index
    "hit points": (10, 11),
    "power": (14, 15),
    "dungeon": (23,),
    "depth": (12,),
    "gold": (13,),
    "armour class": (16,),
    "level": (18,),
    "turn": (20,),
}
_HUNGER = ("satiated", "not hungry", "hungry", "weak", "fainting")
_HUNGER_INDEX = 21
_OFFSETS = {
    "north": (-1, 0),
    "northeast": (-1, 1),
    "east": (0, 1),
    "southeast": (1, 1),
    "south": (1, 0),
    "southwest": (1, -1),
    "west": (0, -1),
    "northwest": (-1, -1),
}


def game_facts(env: NetHackEnvironment, task: str) -> EnvironmentFacts:
    """Return information about the agent; `task` describes its goal. A state is described if NLE observes all
    inputs of the text, as it does unless the setting "observation_keys" excludes some."""
    actions = list(env.game.actions)
    reads = set(_TEXT) <= set(env.game._observation_keys)
    return EnvironmentFacts(
        action_names(actions),
        action_keys(actions),
        instructions=task,
        describe=(lambda: {"text": as_text(env.screen())}) if reads else None,
        packages=("nle", "minihack"),
    )


def action_names(actions: Sequence[Any]) -> list[str]:
    """Return a name for each of NLE's actions: "north", "far north", "kick"."""
    return [_name(action) for action in actions]


def action_keys(actions: Sequence[Any]) -> dict[str, int]:
    """Return action numbers by key: the game's own keys, and arrows in addition to its direction keys.
    Commands with Ctrl or Meta are selected by buttons on the page."""
    keys: dict[str, int] = {}
    for number, (action, name) in enumerate(zip(actions, action_names(actions))):
        character = chr(int(action))
        if character in _KEYS or (character.isascii() and character.isprintable()):
            keys.setdefault(_KEYS.get(character, character), number)
        if name in _ARROWS:
            keys[_ARROWS[name]] = number
    return keys


def _name(action: Any) -> str:
    action_class, name = type(action).__name__, str(action.name)
    if action_class.startswith("Compass"):
        direction = "".join(word for letter, word in _WINDS.items() if letter in name)
        return f"far {direction}" if action_class.endswith("Longer") else direction
    return name.removeprefix("NUM_").lower()


def as_text(screen: Mapping[str, Any]) -> str:
    """Return NLE's observations ("tty_chars", "blstats", "message" and others, by name) as text."""
    blstats = [int(number) for number in screen["blstats"]]
    rows = [bytes(row).decode("latin-1").rstrip() for row in screen["chars"]]
    parts = {
        "Message": _line(screen["message"]) or "none",
        "Next to you (@)": _adjacent(screen["screen_descriptions"], blstats[0], blstats[1]),
        "Map": "\n".join(_trimmed(rows)),
        "You": _status(blstats),
        "Inventory": _inventory(screen),
    }
    return "\n\n".join(f"{name}:\n{text}" for name, text in parts.items())


def _line(characters: Any) -> str:
    return bytes(characters).split(b"\0")[0].decode("latin-1").strip()


def _adjacent(descriptions: Any, x: int, y: int) -> str:
    height, width = descriptions.shape[:2]
    texts = {
        name: _line(descriptions[y + down, x + right])
        for name, (down, right) in _OFFSETS.items()
        if 0 <= y + down < height and 0 <= x + right < width
    }
    return "\n".join(f"{name}: {text}" for name, text in texts.items() if text) or "nothing"


def _trimmed(rows: list[str]) -> list[str]:
    """Return the rows without empty rows above and below, and without the common left margin."""
    filled = [number for number, row in enumerate(rows) if row]
    if not filled:
        return []
    rows = rows[filled[0] : filled[-1] + 1]
    margin = min(len(row) - len(row.lstrip()) for row in rows if row)
    return [row[margin:] for row in rows]


def _status(blstats: list[int]) -> str:
    values = {name: " of ".join(str(blstats[i]) for i in indices) for name, indices in _STATUS.items()}
    hunger = blstats[_HUNGER_INDEX]
    if 0 <= hunger < len(_HUNGER):
        values["hunger"] = _HUNGER[hunger]
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _inventory(screen: Mapping[str, Any]) -> str:
    pairs = zip(screen["inv_letters"], screen["inv_strs"])
    return "\n".join(f"{chr(letter)}: {_line(text)}" for letter, text in pairs if letter) or "nothing"
