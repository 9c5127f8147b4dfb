"""Gymnasium's toy text environments: the meaning of a number or a tuple of numbers, in words."""

from __future__ import annotations

import math
import re
from typing import Any, Mapping

from mosaic_contract.language.describers.environment_describer import EnvironmentDescriber, Observe

_STOPS = (("red", 0, 0), ("green", 0, 4), ("yellow", 4, 0), ("blue", 4, 3))


def _cell(row: int, column: int) -> str:
    return f"row {row + 1}, column {column + 1}"


def _frozen_lake(cells: int) -> Observe:
    columns = math.isqrt(cells)

    def observe(cell: Any, description: Mapping[str, Any]) -> str:
        row, column = divmod(int(cell), columns)
        text = f"You are at {_cell(row, column)} of a lake of {cells // columns} rows and {columns} columns."
        rows = description.get("map")
        if not rows:
            return text
        grid = [[*line] for line in rows]
        grid[row][column] = "*"
        lines = ["The lake (*: you, S: start, F: ice, H: hole, G: goal):", *("".join(line) for line in grid)]
        return "\n".join([text, *lines])

    return observe


def _taxi(state: Any, _: Mapping[str, Any]) -> str:
    remaining, goal = divmod(int(state), 4)
    remaining, passenger = divmod(remaining, 5)
    row, column = divmod(remaining, 5)
    name, *destination = _STOPS[goal]
    passenger_text = (
        f"waits at the {_STOPS[passenger][0]} stop ({_cell(*_STOPS[passenger][1:])})"
        if passenger < 4
        else "is in the taxi"
    )
    return (
        f"The taxi is at {_cell(row, column)}. The passenger {passenger_text}, and wants to go "
        f"to the {name} stop ({_cell(*destination)})."
    )


def _cliff(cell: Any, _: Mapping[str, Any]) -> str:
    return f"You are at {_cell(*divmod(int(cell), 12))}."


def _blackjack(observation: Any, _: Mapping[str, Any]) -> str:
    total, dealer, ace = (int(part) for part in observation)
    card = "an ace" if dealer == 1 else f"a {dealer}"
    eleven = ", with an ace that counts 11" if ace else ""
    return f"Your cards sum up to {total}{eleven}. The dealer shows {card}."


_RULES: Mapping[str, tuple[str, str]] = {
    "FrozenLake": (
        "You walk over a frozen lake of square cells, from the first row and column to the goal. Rows are "
        "counted from the top, columns from the left. Holes end the episode. The ice may be slippery: a step "
        "may go to either side of the direction that you chose. You get a reward of 1 at the goal.",
        "Keep away from cells next to holes; on slippery ice choose a direction whose sides are safe.",
    ),
    "Taxi": (
        "You drive a taxi on a square of five by five cells. Rows are counted from the top (north), columns "
        "from the left (west). Pick the passenger up where it waits, and drop it off at the stop that it "
        "wants to go to. Walls stand between columns 2 and 3 in rows 1 and 2, between columns 1 and 2 in "
        "rows 4 and 5, and between columns 3 and 4 in rows 4 and 5. Each step costs 1; picking up or "
        "dropping off at a wrong place costs 10.",
        "First drive to the passenger's cell and pick up, then to the goal's cell and drop off; around "
        "walls, use row 3.",
    ),
    "CliffWalking": (
        "You walk on four rows of twelve cells, from row 4, column 1 to the goal at row 4, column 12. Rows "
        "are counted from the top. Between the two, row 4 is a cliff: stepping there costs 100 and takes you "
        "back to the start. Each step costs 1.",
        "Go up one row, then right to column 12, then down.",
    ),
    "Blackjack": (
        "This is blackjack against a dealer, who draws until 17 or more. Whoever is closer to 21 wins; above "
        "21 you lose at once. Aces count 1 or 11, pictures 10.",
        "Hit on 11 or less; stick on 17 or more; between, hit when the dealer shows 7 or more or an ace.",
    ),
}
_NAME = re.compile(r"(?:.*[/:])?(FrozenLake|Taxi|CliffWalking|Blackjack)(?:8x8|Slippery)?(?:-v\d+)?")


def describer(env_id: str, space: Mapping[str, Any] | None) -> EnvironmentDescriber | None:
    """Return the describer of a toy text environment; None for any other."""
    match = _NAME.fullmatch(env_id)
    if match is None or not space:
        return None
    count = space.get("n")
    observe: Mapping[str, Observe] = {
        "FrozenLake": _frozen_lake(count or 1),
        "Taxi": _taxi,
        "CliffWalking": _cliff,
        "Blackjack": _blackjack,
    }
    is_game_space = {"FrozenLake": count, "Taxi": count == 500, "CliffWalking": count == 48}
    if not is_game_space.get(match[1], space.get("type") == "Tuple"):
        return None
    rules, advice = _RULES[match[1]]
    return EnvironmentDescriber(rules=rules, advice=advice, observe=observe[match[1]])
