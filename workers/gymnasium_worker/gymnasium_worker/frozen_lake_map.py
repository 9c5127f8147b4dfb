"""The map of FrozenLake, which its observation, a number, does not show."""

from __future__ import annotations

from typing import Any, Callable, Mapping

Describe = Callable[[], Mapping[str, Any]]


def frozen_lake_map(env: Any) -> Describe | None:
    """Return a function that describes a lake: {"map": a text for each row, with S for the start, F for ice,
    H for a hole and G for the goal}; None for an environment without such a map.
    """
    inner = env.unwrapped
    if not hasattr(inner, "desc"):
        return None

    def describe() -> Mapping[str, Any]:
        return {"map": [b"".join(row).decode("ascii") for row in inner.desc.tolist()]}

    return describe
