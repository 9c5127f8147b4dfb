"""The facts of a game for operators and panels, beside its observations."""

from __future__ import annotations

from typing import Any, Sequence

from mosaic_contract.arena import EnvironmentFacts

from .environment import NetHackEnvironment
from .screen import as_text

_WINDS = {"N": "north", "S": "south", "E": "east", "W": "west"}
_ARROWS = {"north": "ArrowUp", "east": "ArrowRight", "south": "ArrowDown", "west": "ArrowLeft"}
_KEYS = {"\r": "Enter"}
_TEXT = ("chars", "blstats", "message", "screen_descriptions", "inv_strs", "inv_letters")


def game_facts(env: NetHackEnvironment, task: str) -> EnvironmentFacts:
    """Return the facts of the one agent; `task` says what it is to do.

    A state is described where NLE observes all that its text is made of, as it does unless the
    setting "observation_keys" leaves some of it out.
    """
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
    """Return the numbers of the actions by the keys that choose them: the game's own, and the arrows beside
    its keys for directions. Commands with Ctrl or Meta are chosen on the page by their buttons.
    """
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
