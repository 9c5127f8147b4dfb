"""Validation of actions against a described space, for arenas, keyboards and the conformance suite. Actions
are returned as plain numbers and lists. NumPy is not needed."""

from __future__ import annotations

import math
from typing import Any, Callable, Iterator, Mapping, Sequence

from mosaic_contract.arrays import nested
from mosaic_contract.codec import flat_numbers, whole_number

TOLERANCE = 1e-4
"""Relative tolerance for numbers beyond a Box's bounds, the precision of 32-bit arithmetic. They are clipped.
"""

Reader = Callable[[Any], Any]


def action_reader(described: Mapping[str, Any]) -> Reader:
    """Return the function that reads actions of the space with this description.

    It takes an unpacked value and returns the action: an int (Discrete), numbers in nested lists of the
    space's shape (Box, MultiDiscrete, MultiBinary), a list (Tuple), a dict (Dict), or the value itself for
    any other space. It raises `ValueError` with the reason for a value that is not an action of the space.
    """
    make = _MAKERS.get(described["type"])
    return make(described) if make is not None else lambda value: value


def _discrete(described: Mapping[str, Any]) -> Reader:
    start = described.get("start", 0)
    last = start + described["n"] - 1

    def read(value: Any) -> int:
        action = whole_number(value)
        if action is None or not start <= action <= last:
            raise ValueError(f"{value!r:.200} is not an action from {start} to {last}")
        return action

    return read


def _box(described: Mapping[str, Any]) -> Reader:
    integral = str(described.get("dtype")).startswith(("int", "uint"))
    return _numeric(described["shape"], described["low"], described["high"], integral, TOLERANCE)


def _multi_discrete(described: Mapping[str, Any]) -> Reader:
    start = described.get("start", 0)
    count = math.prod(described["shape"])
    highs = [low + size - 1 for low, size in zip(_spread(start, count), _spread(described["nvec"], count))]
    return _numeric(described["shape"], start, highs, True, 0.0)


def _numeric(shape: Sequence[int], low: Any, high: Any, integral: bool, tolerance: float) -> Reader:
    """Return the reader of arrays. `integral`: only whole numbers are accepted; `low` and `high`: one number,
    or one for each element."""
    count = math.prod(shape)
    lows, highs = _spread(low, count), _spread(high, count)

    def bounded(number: Any, low: float, high: float) -> Any:
        clipped = min(max(number, low), high)
        if not math.isfinite(number) or abs(number - clipped) > tolerance * (1 + abs(clipped)):
            raise ValueError(f"{number!r} is out of bounds, which are {low:g} and {high:g}")
        if integral and clipped != math.floor(clipped):
            raise ValueError(f"{number!r} is not an integer")
        return int(clipped) if integral else clipped

    def read(value: Any) -> Any:
        numbers = list(_numbers(value.tolist() if hasattr(value, "tolist") else value, shape))
        try:
            return nested(map(bounded, numbers, lows, highs), shape)
        except OverflowError:  # an int too large for a float
            raise ValueError(f"{numbers!r:.200} has a number that is out of bounds") from None

    return read


def _numbers(value: Any, shape: Sequence[int], depth: int = 0) -> Iterator[Any]:
    """Yield the numbers in nested lists of this shape, in C order."""
    if depth == len(shape):
        if not isinstance(value, (int, float)):
            raise ValueError(f"{value!r:.200} is not a number, in an array of shape {list(shape)}")
        yield value
        return
    if not isinstance(value, (list, tuple)) or len(value) != shape[depth]:
        raise ValueError(f"{value!r:.200} does not have the shape {list(shape[depth:])}")
    for part in value:
        yield from _numbers(part, shape, depth + 1)


def _spread(bound: Any, count: int) -> list[float]:
    """Return `count` bounds, from one bound for all or from nested lists."""
    flat = list(flat_numbers(bound))
    return flat * count if len(flat) == 1 else flat


def _tuple(described: Mapping[str, Any]) -> Reader:
    readers = [action_reader(part) for part in described["spaces"]]

    def read(value: Any) -> list[Any]:
        if not isinstance(value, (list, tuple)) or len(value) != len(readers):
            raise ValueError(f"{value!r:.200} is not a list of {len(readers)} actions")
        return [reader(part) for reader, part in zip(readers, value)]

    return read


def _dict(described: Mapping[str, Any]) -> Reader:
    readers = {key: action_reader(part) for key, part in described["spaces"].items()}

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping) or set(value) != set(readers):
            raise ValueError(f"{value!r:.200} is not a dict of actions for {', '.join(readers)}")
        return {key: reader(value[key]) for key, reader in readers.items()}

    return read


_MAKERS: dict[str, Callable[[Mapping[str, Any]], Reader]] = {
    "Discrete": _discrete,
    "Box": _box,
    "MultiDiscrete": _multi_discrete,
    "MultiBinary": lambda described: _numeric(described["shape"], 0, 1, True, 0.0),
    "Tuple": _tuple,
    "Dict": _dict,
}
