"""Actions that are a number for each joint: names, and keys for a person.

Two keys for each of the first ten, from one column of the keyboard: the upper one for its highest value, the
lower one for its lowest; the others are at rest meanwhile. One or two numbers have the arrows.
"""

from __future__ import annotations

from typing import Any, Sequence

from mosaic_contract.arena.environment_description import EnvironmentFacts

_UPPER, _LOWER = "qwertyuiop", "asdfghjkl;"
_REST = " "
_FEW = 2  # numbers, which have the arrows


def facts_of_joints(names: Sequence[str], space: Any, task: str, package: str) -> EnvironmentFacts:
    """Return the facts of an environment whose actions are a Box with a number for each name; `task` says
    what it is about, `package` is the one of the physics."""
    names = list(names) if len(names) == space.shape[0] else [f"number {n}" for n in range(space.shape[0])]
    lows, highs = space.low.tolist(), space.high.tolist()
    return EnvironmentFacts(
        action_meanings=names,
        keys=_keys(lows, highs) if len(names) > _FEW else None,
        instructions=f"{task} An action is {len(names)} numbers, in order: {_listed(names, lows, highs)}.",
        packages=(package,),
    )


def _keys(lows: Sequence[float], highs: Sequence[float]) -> dict[str, list[float]]:
    rest = [min(max(0.0, low), high) for low, high in zip(lows, highs)]
    keys = {_REST: rest}
    for place, upper, lower in zip(range(len(rest)), _UPPER, _LOWER):
        for key, bounds in ((upper, highs), (lower, lows)):
            keys[key] = [*rest[:place], bounds[place], *rest[place + 1 :]]
    return keys


def _listed(names: Sequence[str], lows: Sequence[float], highs: Sequence[float]) -> str:
    return ", ".join(f"{name} ({low:g} to {high:g})" for name, low, high in zip(names, lows, highs))
