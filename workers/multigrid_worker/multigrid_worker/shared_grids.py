"""The environments of the package multigrid: MiniGrid-like grids for any number of agents."""

from __future__ import annotations

import re
from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts, registered

from .agents_at_once import AgentsAtOnce, keys_of, make_agents_at_once

_INSTRUCTIONS = (
    "You are one of {count} on a grid, and all act at once. You see a part of the grid in front of you. Left"
    " and right turn you, forward moves you the way you look; pickup, drop and toggle (which opens doors and"
    " boxes) act on what is right in front of you. The mission stands beside what you see."
)
_ENUM_PREFIX = re.compile(r"\b(Color|Type)\.")  # enumeration names before "red" or "key" in missions
_NOTHING = ("unseen", "empty", "floor", "wall")


def ids() -> list[str]:
    import multigrid.envs  # noqa: F401  (registers them)

    return registered("MultiGrid-")


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> AgentsAtOnce:
    env = make_agents_at_once(env_id, {"agents": 2, **settings}, render_mode)
    inner = env.unwrapped
    inner._RandomMixin__np_random = _SeededGenerator(inner)
    return env


def facts_of(env: AgentsAtOnce, agent: str) -> EnvironmentFacts:
    from multigrid.core.actions import Action

    number = env.number_of(agent)
    return EnvironmentFacts(
        [action.name for action in Action],
        keys_of(Action, number),
        team="",
        instructions=_INSTRUCTIONS.format(count=len(env.possible_agents)),
        describe=lambda: {"text": view_of(env.unwrapped, number)},
    )


class _SeededGenerator:
    """Forwards to an environment's current generator. Upstream generates grids with the generator from its
    construction, which the seed of a reset does not affect."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner.np_random, name)


def view_of(inner: Any, number: int) -> str:
    """Return the mission, the carried object and the visible objects, by distance."""
    from multigrid.core.constants import Direction

    agent = inner.agents[number]
    carried = agent.state.carrying
    load = f"a {carried.color.value} {carried.type.value}" if carried else "nothing"
    direction = Direction(int(agent.state.dir)).name
    mission = _ENUM_PREFIX.sub("", str(inner.mission)) or "none"
    lines = [f"Mission: {mission}.", f"You look {direction} and carry {load}. You see:"]
    return "\n".join(lines + (_visible_objects(inner.gen_obs()[number]["image"]) or ["- nothing but walls"]))


def _visible_objects(image: Any) -> list[str]:
    """Return a line for each object in a view; the agent is in the middle of the last row."""
    from multigrid.core.constants import Color, State, Type

    size = len(image)
    cells = sorted(
        (size - 1 - row + abs(column - size // 2), row, column)
        for column in range(size)
        for row in range(size)
    )
    lines = []
    for _, row, column in cells[1:]:  # the first is the agent's own
        type_index, colour, state = (int(number) for number in image[column, row])
        name = Type.from_index(type_index).value
        if name in _NOTHING:
            continue
        looks = f"{State.from_index(state).value} " if name == "door" else ""
        looks += f"{Color.from_index(colour).value} " if name not in ("goal", "lava") else ""
        lines.append(f"- {looks}{name}: {_position_text(size - 1 - row, column - size // 2)}")
    return lines


def _position_text(ahead: int, right: int) -> str:
    parts = [f"{ahead} ahead"] if ahead else []
    if right:
        parts.append(f"{abs(right)} to the {'right' if right > 0 else 'left'}")
    return ", ".join(parts)
