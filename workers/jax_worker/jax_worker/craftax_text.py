"""The player's view and inventory in Craftax-Classic, in words. (Craftax itself has its own description.)"""

from __future__ import annotations

from typing import Any

import numpy

_FACING = {1: "left", 2: "right", 3: "up", 4: "down"}
_CREATURES = {"zombies": "zombie", "cows": "cow", "skeletons": "skeleton", "arrows": "arrow"}
_BODY = ("health", "food", "drink", "energy")


def described_classic(state: Any, constants: Any) -> str:
    """Return a state of Craftax-Classic as text; `constants` is its module of constants."""
    row, column = (int(place) for place in state.player_position)
    high, wide = constants.OBS_DIM
    blocks = numpy.asarray(state.map)
    creatures = _creatures(state)
    lines = ["What you see, row by row from the top, with you in the middle:"]
    for y in range(row - high // 2, row + high // 2 + 1):
        places = [(y, x) for x in range(column - wide // 2, column + wide // 2 + 1)]
        lines.append(", ".join(creatures.get(place) or _block(blocks, place, constants) for place in places))
    body = ", ".join(f"{name} {int(getattr(state, f'player_{name}'))}" for name in _BODY)
    things = ", ".join(f"{n.replace('_', ' ')} {int(c)}" for n, c in vars(state.inventory).items() if int(c))
    facing = _FACING.get(int(state.player_direction), "nowhere")
    mood = "You are asleep." if bool(state.is_sleeping) else f"You face {facing}."
    return "\n".join([*lines, "", f"{mood} You have: {body}{', ' if things else ''}{things}."])


def _creatures(state: Any) -> dict[tuple[int, int], str]:
    found = {}
    for kind, name in _CREATURES.items():
        mobs = getattr(state, kind)
        for position, there in zip(numpy.asarray(mobs.position), numpy.asarray(mobs.mask)):
            if there:
                found[(int(position[0]), int(position[1]))] = name
    return found


def _block(blocks: Any, place: tuple[int, int], constants: Any) -> str:
    inside = all(0 <= at < size for at, size in zip(place, blocks.shape))
    number = int(blocks[place]) if inside else constants.BlockType.OUT_OF_BOUNDS.value
    name: str = constants.BlockType(number).name
    return name.lower().replace("_", " ")
