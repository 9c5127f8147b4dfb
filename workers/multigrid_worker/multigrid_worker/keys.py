"""The keys that choose actions: two people can share a keyboard."""

from __future__ import annotations

from typing import Any, Iterable

_FIRST = {
    "noop": "0",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "forward": "ArrowUp",
    "pickup": "p",
    "drop": "d",
    "toggle": " ",
    "done": "Enter",
}
_SECOND = {
    "noop": "1",
    "left": "a",
    "right": "f",
    "forward": "w",
    "pickup": "e",
    "drop": "q",
    "toggle": "r",
    "done": "t",
}


def keys_of(actions: Iterable[Any], number: int) -> dict[str, int]:
    """Return the keys of an enumeration of actions, for the agent with this number."""
    keys = _SECOND if number == 1 else _FIRST
    return {keys[action.name]: int(action) for action in actions}
