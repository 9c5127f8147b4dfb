"""rware: robots that bring requested shelves to the goals of a warehouse and return them."""

from __future__ import annotations

from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts, registered

from .tuple_environment import TupleEnvironment, keys_of, make_tuple_environment

_KEYS = {"noop": "0", "forward": "ArrowUp", "left": "ArrowLeft", "right": "ArrowRight", "toggle load": " "}
_RULES = (
    "You are a robot in a warehouse, seen from above. Bring shelves that are requested to a goal, then put"
    " them back where no shelf stands; each requested shelf that reaches a goal gives a reward of 1, and"
    " another one is requested. Left and right turn you, forward moves you the way you look. Toggle load"
    " picks up the shelf that you stand under, or puts down the one that you carry, not on the ways between"
    " the shelves. Without a shelf you can pass under shelves, with one you cannot."
)


def ids() -> list[str]:
    import rware  # noqa: F401  (registers them)

    return registered("rware-")


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> TupleEnvironment:
    return make_tuple_environment(env_id, settings)


def facts_of(env: TupleEnvironment, agent: str) -> EnvironmentFacts:
    from rware.warehouse import Action

    names: list[str] | None = [action.name.lower().replace("_", " ") for action in Action]
    if getattr(env.action_space(agent), "n", None) != len(Action):  # with message bits
        names = None
    number = env.number_of(agent)
    goals = ", ".join(f"({x}, {y})" for x, y in env.unwrapped.goals)
    return EnvironmentFacts(
        names,
        keys_of(names, _KEYS, second=number == 1) if names else None,
        "robots",
        instructions=f"{_RULES} Places are (x, y) from the upper left. Goals: {goals}.",
        describe=lambda: {"text": _description(env, number)},
    )


def _description(env: TupleEnvironment, number: int) -> str:
    """Return a robot's sensor readings."""
    inner = env.unwrapped
    me = inner.agents[number]
    shelf = me.carrying_shelf
    load = "nothing" if shelf is None else _shelf(inner, shelf)
    lines = [f"You are at ({me.x}, {me.y}), look {me.dir.name.lower()} and carry {load}.", "Around you:"]
    return "\n".join([*lines, *_nearby(inner, me)])


def _nearby(inner: Any, me: Any) -> list[str]:
    """Return a line for each occupied place within a robot's sensor range."""
    height, width = inner.grid_size
    reach = inner.sensor_range
    shelves = {(shelf.x, shelf.y): shelf for shelf in inner.shelfs}
    robots = {(robot.x, robot.y): robot for robot in inner.agents if robot is not me}
    lines = []
    for y in range(max(0, me.y - reach), min(height, me.y + reach + 1)):
        for x in range(max(0, me.x - reach), min(width, me.x + reach + 1)):
            contents = []
            if (x, y) in shelves:
                contents.append(_shelf(inner, shelves[x, y]))
            if (x, y) in robots:
                contents.append(f"a robot that looks {robots[x, y].dir.name.lower()}")
            if contents:
                lines.append(f"- at ({x}, {y}): {', '.join(contents)}")
    return lines or ["- nothing"]


def _shelf(inner: Any, shelf: Any) -> str:
    return "a requested shelf" if shelf in inner.request_queue else "a shelf that is not requested"
