"""Any observation as text, from the description of its space: names, bounds, rounded numbers."""

from __future__ import annotations

import math
from typing import Any, Iterator, Mapping

from mosaic_contract.codec import as_number
from mosaic_contract.language.describers.environment_describer import EnvironmentDescriber, number

MOST_NUMBERS = 200
"""Maximum number of elements of an array that are written out."""

_MOST_TEXT = 20_000  # characters of a text observation
_MOST_DEPTH = 8
_MASK = "action_mask"  # shown as the list of legal actions instead


def describer(space: Mapping[str, Any] | None) -> EnvironmentDescriber:
    """Return the describer of observations of any space."""
    return EnvironmentDescriber(
        rules="You act in an environment that reports numbers. Find out from the rewards' description, if "
        "there is one, and from what changes, what they mean.",
        observe=lambda observation, _: text_of(observation, space),
    )


def text_of(observation: Any, space: Mapping[str, Any] | None = None) -> str:
    """Return an observation in lines, with the facts of its space."""
    return "\n".join(_lines("", observation, space or {}, 0))


def _lines(name: str, value: Any, space: Mapping[str, Any], depth: int) -> Iterator[str]:
    label = f"{name}: " if name else ""
    if depth > _MOST_DEPTH:
        yield f"{label}…"
    elif isinstance(value, str):
        yield f"{label}{value[:_MOST_TEXT]}"
    elif isinstance(value, Mapping):
        parts = space.get("spaces")
        for key, part in value.items():
            if key != _MASK:
                inside = parts.get(str(key)) if isinstance(parts, Mapping) else None
                yield from _lines(f"{name}.{key}" if name else str(key), part, inside or {}, depth + 1)
    elif isinstance(value, (list, tuple)) and space.get("type") == "Tuple":
        for index, (part, inside) in enumerate(zip(value, space["spaces"])):
            yield from _lines(f"{name}[{index}]", part, inside, depth + 1)
    else:
        yield from _numbers(label, value, space)


def _numbers(label: str, value: Any, space: Mapping[str, Any]) -> Iterator[str]:
    nested = value.tolist() if hasattr(value, "tolist") else value
    flat = list(_flat(nested))
    if not isinstance(nested, (list, tuple)):
        yield f"{label}{_one(nested)}{_range(space)}"
    elif len(flat) > MOST_NUMBERS:
        yield (
            f"{label}an array of shape {_shape(nested)} with values from {_one(min(flat))} to "
            f"{_one(max(flat))}, mean {_one(sum(flat) / len(flat))}: too large to be written out"
        )
    elif len(_shape(nested)) < 2:
        yield f"{label}[{', '.join(map(_one, flat))}]{_range(space)}"
    else:
        yield f"{label}{_range(space).strip() or 'array'}"
        yield from (f"  {_row(row)}" for row in nested)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def _shape(value: Any) -> tuple[int, ...]:
    return (len(value), *_shape(value[0])) if isinstance(value, (list, tuple)) and value else ()


def _row(value: Any) -> str:
    return f"[{', '.join(_row(part) for part in value)}]" if isinstance(value, (list, tuple)) else _one(value)


def _one(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return number(value) if math.isfinite(value) else str(value)


def _range(space: Mapping[str, Any]) -> str:
    """Return the bounds if they are finite and the same for all numbers."""
    if space.get("type") == "Discrete":
        start = int(space.get("start", 0))
        return f" (from {start} to {start + int(space['n']) - 1})"
    low, high = space.get("low"), space.get("high")
    if low is None or high is None or isinstance(low, list) or isinstance(high, list):
        return ""
    low, high = as_number(low), as_number(high)
    return f" (each from {_one(low)} to {_one(high)})" if math.isfinite(low) and math.isfinite(high) else ""
