"""lbforaging: agents with levels collect food alone, or together if the sum of their levels suffices."""

from __future__ import annotations

from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts, registered

from .tuple_environment import TupleEnvironment, keys_of, make_tuple_environment

_KEYS = {
    "none": "0",
    "north": "ArrowUp",
    "south": "ArrowDown",
    "west": "ArrowLeft",
    "east": "ArrowRight",
    "load": " ",
}
_RULES = (
    "You and the other agents collect food on a grid. Food is collected by the agents next to it (north,"
    " south, west or east of it) who choose load in the same step, if their levels add up to the food's"
    " level; they share the reward by their levels. North is up, a row less. Two agents cannot stand in one"
    " place, and food is an obstacle."
)


def ids() -> list[str]:
    import lbforaging  # noqa: F401  (registers them)

    return registered("Foraging-")


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> TupleEnvironment:
    return make_tuple_environment(env_id, settings)


def facts_of(env: TupleEnvironment, agent: str) -> EnvironmentFacts:
    from lbforaging.foraging.environment import Action

    names = [action.name.lower() for action in Action]
    number = env.number_of(agent)
    return EnvironmentFacts(
        names,
        keys_of(names, _KEYS, second=number == 1),
        "foragers",
        instructions=_RULES,
        describe=lambda: {"text": _description(env, number)},
    )


def _description(env: TupleEnvironment, number: int) -> str:
    """Return the objects within an agent's sight."""
    inner = env.unwrapped
    me = inner.players[number]
    row, column = map(int, me.position)
    rows, columns = inner.field_size
    position = f"row {row}, column {column} of {rows} rows and {columns} columns"
    lines = [f"You are at {position}, and your level is {me.level}."]
    for y, x in zip(*map(list, inner.field.nonzero())):
        if _sees(inner, me, y, x):
            lines.append(f"- food of level {inner.field[y, x]} at row {y}, column {x}")
    for other, player in enumerate(inner.players):
        if player is not me and _sees(inner, me, *player.position):
            y, x = map(int, player.position)
            lines.append(f"- agent_{other} of level {player.level} at row {y}, column {x}")
    return "\n".join(lines)


def _sees(inner: Any, me: Any, row: int, column: int) -> bool:
    return max(abs(row - me.position[0]), abs(column - me.position[1])) <= inner.sight
