"""NetHack's actions by their names, and the keys that they have in the game.

The game's keys for directions (h, j, k, l, …) are joined by the arrows. Commands that the game has with Ctrl
or Meta are chosen on the page by their buttons.
"""

from __future__ import annotations

from typing import Any, Sequence

_WINDS = {"N": "north", "S": "south", "E": "east", "W": "west"}
_ARROWS = {"north": "ArrowUp", "east": "ArrowRight", "south": "ArrowDown", "west": "ArrowLeft"}
_KEYS = {"\r": "Enter"}


def action_names(actions: Sequence[Any]) -> list[str]:
    """Return a name for each of NLE's actions: "north", "far north", "kick"."""
    return [_name(action) for action in actions]


def action_keys(actions: Sequence[Any]) -> dict[str, int]:
    """Return the numbers of the actions by the keys that choose them."""
    keys: dict[str, int] = {}
    for number, (action, name) in enumerate(zip(actions, action_names(actions))):
        character = chr(int(action))
        if character in _KEYS or (character.isascii() and character.isprintable()):
            keys.setdefault(_KEYS.get(character, character), number)
        if name in _ARROWS:
            keys[_ARROWS[name]] = number
    return keys


def _name(action: Any) -> str:
    kind, name = type(action).__name__, str(action.name)
    if kind.startswith("Compass"):
        direction = "".join(word for letter, word in _WINDS.items() if letter in name)
        return f"far {direction}" if kind.endswith("Longer") else direction
    return name.removeprefix("NUM_").lower()
