"""The instructions, actions and default action of each family of environments, in our own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from mosaic_contract import AgentSetup
from mosaic_contract.language.balrog import DEFAULT_ACTIONS
from mosaic_contract.language.describers import Describer
from mosaic_contract.noop import noop_indices

HISTORY_FOLLOWS = "What you have seen and done so far follows."
BEGIN = "Play!"
LEARN = "Look at the demonstrations first, and learn from them."
"""Replaces `BEGIN` before demonstrations."""

GRID_ACTIONS = {
    "turn left": "turn to the left",
    "turn right": "turn to the right",
    "go forward": "move one step forward",
    "pick up": "pick up the object in front of you",
    "drop": "put down the object that you carry",
    "toggle": "open, unlock or otherwise use what is in front of you",
}
"""MiniGrid's actions in numeric order, with their effects."""


@dataclass(frozen=True)
class Game:
    """A game's prompt. ``instructions``: all but the last line. ``actions``: {name: action}; None if any
    string is an action. ``default``: the name of the action played if an answer names none."""

    instructions: str
    actions: Mapping[str, Any] | None
    default: str

    def opening(self, last: str = BEGIN) -> str:
        """Return the text of the first message."""
        return f"{self.instructions}\n\n{last}"


def listed(actions: Mapping[str, str]) -> str:
    """Return lines that list actions with their effects."""
    return ",\n".join(f"{name}: {effect}" for name, effect in actions.items()) + "."


def grid_game(mission: str) -> Game:
    """Return the game of a BabyAI or MiniGrid episode with this mission."""
    instructions = (
        f"You play a simple game of navigation. Your goal is to {mission}. These are the actions that you can"
        f" choose from, with what they do:\n\n{listed(GRID_ACTIONS)}\n\nYou will be shown"
        " observations.\n\nHints:\n- An object that you want to pick up or use has to be right in front of"
        " you; 'toggle' uses it.\n- An action that changed nothing of what you see will not do so when it is"
        " repeated."
    )
    actions = {name: number for number, name in enumerate(GRID_ACTIONS)}
    return Game(instructions, actions, DEFAULT_ACTIONS["minigrid"])


def game_of(setup: AgentSetup, describer: Describer, description: Mapping[str, Any]) -> Game:
    """Return the game of an environment that describes itself, or that has named or numbered actions."""
    actions = description.get("actions") or _named_actions(setup, describer.names)
    default = description.get("default_action") or _default(actions)
    if "default_action" in description:  # BALROG's environments have complete instructions
        return Game(str(setup.settings.get("instructions")), actions, str(default))
    choices = ", ".join(actions) if actions else "any text"
    parts = [
        describer.rules or f"You play {setup.game_name}.",
        f"Your actions are: {choices}.",
        HISTORY_FOLLOWS,
    ]
    return Game("\n\n".join(parts), actions, str(default))


def _named_actions(setup: AgentSetup, names: Sequence[str] | None) -> dict[str, Any] | None:
    """Return {name: action} of a discrete space, by action names or numbers; None for other spaces."""
    space = setup.action_space or {}
    if space.get("type") != "Discrete":
        return None
    start, count = int(space.get("start", 0)), int(space["n"])
    return {str(name): start + index for index, name in enumerate(names or range(start, start + count))}


def _default(actions: Mapping[str, Any] | None) -> str:
    """Return the first no-op action, else the first action."""
    names = list(actions or ("help",))
    return names[(noop_indices(names) or [0])[0]]
