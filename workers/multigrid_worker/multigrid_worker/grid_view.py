"""An agent's view of a grid of the package multigrid, in words."""

from __future__ import annotations

import re
from typing import Any

_ENUMERATED = re.compile(r"\b(Color|Type)\.")  # which upstream's missions have before "red" or "key"
_NOTHING = ("unseen", "empty", "floor", "wall")


def view_of(inner: Any, number: int) -> str:
    """Return the mission, what the agent carries, and the things that it sees, by their distance."""
    from multigrid.core.constants import Direction

    agent = inner.agents[number]
    carried = agent.state.carrying
    load = f"a {carried.color.value} {carried.type.value}" if carried else "nothing"
    look = Direction(int(agent.state.dir)).name
    mission = _ENUMERATED.sub("", str(inner.mission)) or "none"
    lines = [f"Mission: {mission}.", f"You look {look} and carry {load}. You see:"]
    return "\n".join(lines + (_seen(inner.gen_obs()[number]["image"]) or ["- nothing but walls"]))


def _seen(image: Any) -> list[str]:
    """Return a line for each thing in a view; the agent is in the middle of its last row."""
    from multigrid.core.constants import Color, State, Type

    size = len(image)
    places = sorted(
        (size - 1 - row + abs(column - size // 2), row, column)
        for column in range(size)
        for row in range(size)
    )
    lines = []
    for _, row, column in places[1:]:  # the first is the agent's own
        kind, colour, state = (int(number) for number in image[column, row])
        name = Type.from_index(kind).value
        if name in _NOTHING:
            continue
        looks = f"{State.from_index(state).value} " if name == "door" else ""
        looks += f"{Color.from_index(colour).value} " if name not in ("goal", "lava") else ""
        lines.append(f"- {looks}{name}: {_where(size - 1 - row, column - size // 2)}")
    return lines


def _where(ahead: int, right: int) -> str:
    parts = [f"{ahead} ahead"] if ahead else []
    if right:
        parts.append(f"{abs(right)} to the {'right' if right > 0 else 'left'}")
    return ", ".join(parts)
