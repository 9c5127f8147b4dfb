"""BALROG's text of a BabyAI or MiniGrid observation: a line for each object in view, with its distances."""

from __future__ import annotations

from typing import Any

from mosaic_contract.language.describers.environment_describer import plural
from mosaic_contract.language.describers.minigrid import Cell, view_of


def grid_lines(image: Any) -> str:
    """Return the lines of an encoded image (7, 7, 3): the carried object, the nearest walls ahead, left and
    right unless an object is in front of them, then all other objects in view, column by column from the
    left.
    """
    view = view_of({"image": image})
    rays = {
        "forward": {cell.forward: cell for cell in view.cells if cell.right == 0},
        "left": {-cell.right: cell for cell in view.cells if cell.forward == 0 and cell.right < 0},
        "right": {cell.right: cell for cell in view.cells if cell.forward == 0 and cell.right > 0},
    }
    lines = [] if view.carried is None else [f"You carry a {_name(view.carried)}"]
    for direction, ray in rays.items():
        if ray and ray[min(ray)].kind == "wall":
            lines.append(f"a wall {plural(min(ray), 'step')} {direction}")
    return "\n".join([*lines, *(_line(cell) for cell in view.cells if cell.kind != "wall")])


def _line(cell: Cell) -> str:
    side = "right" if cell.right > 0 else "left"
    distances = [f"{plural(abs(cell.right), 'step')} {side}"] if cell.right else []
    distances += [f"{plural(cell.forward, 'step')} forward"] if cell.forward else []
    article = "an" if cell.kind == "door" and cell.state == "open" else "a"
    return f"{article} {_name(cell)} {' and '.join(distances)}"


def _name(cell: Cell) -> str:
    """Return a cell's name with its colour, also for goals and lava."""
    state = f"{cell.state} " if cell.kind == "door" else ""
    return f"{state}{cell.colour} {cell.kind}"
