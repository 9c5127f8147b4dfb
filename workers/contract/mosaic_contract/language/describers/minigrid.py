"""MiniGrid and BabyAI: the agent's view as cells and as text. `mosaic-multigrid` uses the same encoding.

`view_of` reads an observation {"image": (width, height, 3), "direction", "mission"}. The image's first axis
goes from left to right, its second towards the agent, who is in the middle of the last row and faces away
from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from mosaic_contract.language.describers.environment_describer import EnvironmentDescriber, bullets, plural

KINDS = ("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent")
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
STATES = ("open", "closed", "locked")
DIRECTIONS = ("east", "south", "west", "north")
ACTIONS = {
    "left": "turn left",
    "right": "turn right",
    "forward": "go forward",
    "pickup": "pick up",
    "drop": "drop",
    "toggle": "toggle",
    "done": "done",
    "noop": "wait",
}
"""Our names for the actions, by MiniGrid's names."""

_MAX_WIDTH = 25  # cells of a view
_FREE = ("empty", "floor", "goal", "lava")
_TEAM_KINDS = ("team goal", "switch", "end zone")  # kinds added by mosaic-multigrid
_HAS_BALL = 100  # added by mosaic-multigrid to the state of an agent with a ball


@dataclass(frozen=True)
class Cell:
    """The contents of one cell. `right` and `forward` are steps from the agent (negative right: to the left).
    `state` is a door's state or the direction of another agent; `carries`: another agent has a ball."""

    kind: str
    colour: str
    state: str
    right: int
    forward: int
    carries: bool = False

    @property
    def name(self) -> str:
        """The kind of object, with its colour and, for a door, its state."""
        if self.kind == "door":
            return f"{self.state} {self.colour} {self.kind}"
        if self.kind == "agent":
            return f"{self.colour} agent" + (" with a ball" if self.carries else "")
        return self.kind if self.kind in ("wall", "lava", "goal", "empty") else f"{self.colour} {self.kind}"


@dataclass(frozen=True)
class View:
    """An agent's view.

    `cells` are the visible, non-empty cells in the image's order (from left to right, then from far to near);
    `carried` is the object it holds; `direction` is one of `DIRECTIONS`, or empty. `width` and `depth` are
    the view's size in cells.
    """

    cells: Sequence[Cell]
    carried: Cell | None
    direction: str
    mission: str
    width: int
    depth: int
    unseen: frozenset[tuple[int, int]] = frozenset()

    def name_at(self, right: int, forward: int) -> str:
        """Return the name of a cell's contents: "wall", "empty", "unseen" …"""
        if abs(right) > self.width // 2 or not 0 <= forward < self.depth or (right, forward) in self.unseen:
            return "unseen"
        return next((c.name for c in self.cells if (c.right, c.forward) == (right, forward)), "empty")


def is_view(space: Mapping[str, Any] | None) -> bool:
    """Return whether observations of this described space are such views."""
    parts = (space or {}).get("spaces")
    if not isinstance(parts, Mapping) or "direction" not in parts:
        return False
    shape = parts.get("image", {}).get("shape")
    return isinstance(shape, list) and len(shape) == 3 and shape[2] == 3 and shape[0] <= _MAX_WIDTH


def view_of(observation: Mapping[str, Any]) -> View:
    """Return the view in an observation. Raises `ValueError` if it is not encoded this way."""
    image = observation["image"]
    rows = image.tolist() if hasattr(image, "tolist") else image
    width, depth = len(rows), len(rows[0])
    cells, unseen, carried = [], set(), None
    for x, column in enumerate(rows):
        for y, code in enumerate(column):
            cell = _cell(code, x - width // 2, depth - 1 - y)
            if (cell.right, cell.forward) == (0, 0):
                carried = None if cell.kind in ("empty", "unseen") else cell
            elif cell.kind == "unseen":
                unseen.add((cell.right, cell.forward))
            elif cell.kind != "empty":
                cells.append(cell)
    direction = observation.get("direction")
    facing = DIRECTIONS[int(direction) % 4] if direction is not None else ""
    return View(cells, carried, facing, str(observation.get("mission", "")), width, depth, frozenset(unseen))


def text_of(view: View, mission: bool = True) -> str:
    """Return a view in sentences: the agent's direction, carried object, surroundings and visible objects."""
    lines = [f"Mission: {view.mission}"] if mission and view.mission else []
    facing = f"You face {view.direction} and " if view.direction else "You "
    return "\n".join(
        [
            *lines,
            f"{facing}carry {_carried_text(view)}.",
            f"In front of you: {_front_text(view)}.",
            f"To your left: {_side_text(view, -1)}. To your right: {_side_text(view, 1)}.",
            *bullets("You see:", _objects(view), "You see no objects."),
        ]
    )


def text_of_other(view: View) -> str:
    """Return another agent's view in sentences: its direction, carried object and visible objects."""
    facing = f"It faces {view.direction} and " if view.direction else "It "
    lines = [f"{facing}carries {_carried_text(view)}. In front of it: {_front_text(view)}."]
    objects = bullets("It sees, counted from itself:", _objects(view), "It sees no objects.")
    return "\n".join([*lines, *objects])


def _carried_text(view: View) -> str:
    return _with_article(view.carried.name) if view.carried else "nothing"


def _objects(view: View) -> list[str]:
    return [
        f"{cell.name}: {position_text(cell.right, cell.forward)}{_facing_text(cell)}"
        for cell in view.cells
        if cell.kind != "wall"
    ]


def position_text(right: int, forward: int) -> str:
    """Return a relative position in words, such as "3 steps ahead and 2 to the left"."""
    parts = []
    if forward:
        parts.append(f"{plural(abs(forward), 'step')} {'ahead' if forward > 0 else 'behind'}")
    if right:
        count = str(abs(right)) if parts else plural(abs(right), "step")
        parts.append(f"{count} to the {'right' if right > 0 else 'left'}")
    return " and ".join(parts) or "at the same place"


def describer(
    env_id: str, space: Mapping[str, Any] | None, meanings: Sequence[str] | None
) -> EnvironmentDescriber | None:
    """Return the describer of a MiniGrid or BabyAI environment; None for any other."""
    if not is_view(space):
        return None
    return EnvironmentDescriber(
        rules=(
            "You are an agent in a world of square cells, seen from above. You see only the cells in front "
            "of you and beside you, and walls hide what is behind them. Places are given in steps from you: "
            "ahead, and to your left or right. Turning changes where you look and does not move you; going "
            "forward moves you one cell, if the cell in front of you is free. You pick up, drop and toggle "
            "(open a door or a box, unlock a locked door with the key of its colour that you carry) at the "
            "cell in front of you, and you can carry one object. Fulfil the mission in as few steps as "
            "possible."
        ),
        advice=(
            "To reach something ahead and to one side, first go forward until you are beside it, then turn "
            "towards it and go forward. To go to an object means to stand in front of it, facing it. When "
            "what you look for is not in sight, turn around once, then explore through doors and along "
            "walls. Do not walk into walls or lava, and do not turn left and right in alternation: that "
            "leads nowhere."
        ),
        names=names_of(meanings),
        observe=lambda observation, _: text_of(view_of(observation)),
        observe_other=lambda observation, _: text_of_other(view_of(observation)),
    )


def names_of(meanings: Sequence[str] | None) -> list[str] | None:
    """Return our names for actions with these meanings; None if some are not MiniGrid's."""
    if not meanings or any(str(meaning) not in ACTIONS for meaning in meanings):
        return None
    return [ACTIONS[str(meaning)] for meaning in meanings]


def _cell(code: Sequence[int], right: int, forward: int) -> Cell:
    kind, colour, state = (int(number) for number in code)
    kinds = (*KINDS, *_TEAM_KINDS)
    if not 0 <= kind < len(kinds):
        raise ValueError(f"{kind} is not a kind of object that is known")
    name, carries = kinds[kind], kinds[kind] == "agent" and state >= _HAS_BALL
    states = DIRECTIONS if name == "agent" else STATES
    index = state % _HAS_BALL if carries else state
    return Cell(
        name,
        COLOURS[colour] if 0 <= colour < len(COLOURS) else f"colour {colour}",
        states[index] if 0 <= index < len(states) else "",
        right,
        forward,
        carries,
    )


def _front_text(view: View) -> str:
    """Describe the first thing straight ahead, and the number of free cells before it."""
    for forward in range(1, view.depth):
        name = view.name_at(0, forward)
        if name not in _FREE:
            free = plural(forward - 1, "free cell")
            contents = "cells out of sight" if name == "unseen" else _with_article(name)
            return contents if forward == 1 else f"{free}, then {contents}"
        if name in ("goal", "lava"):
            return (
                _with_article(name)
                if forward == 1
                else f"{plural(forward - 1, 'free cell')}, then {_with_article(name)}"
            )
    return plural(view.depth - 1, "free cell")


def _side_text(view: View, right: int) -> str:
    name = view.name_at(right, 0)
    return "out of sight" if name == "unseen" else "a free cell" if name == "empty" else _with_article(name)


def _with_article(name: str) -> str:
    return (
        name
        if name == "lava"
        else f"the {name}"
        if name == "goal"
        else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    )


def _facing_text(cell: Cell) -> str:
    return f", facing {cell.state}" if cell.kind == "agent" and cell.state else ""
