"""Observations and the forms of actions as text, from the descriptions of their spaces: names, bounds,
rounded numbers."""

from __future__ import annotations

import math
from typing import Any, Iterator, Mapping, Sequence

from mosaic_contract.codec import as_number
from mosaic_contract.language.describers.environment_describer import EnvironmentDescriber, number

MAX_NUMBERS = 200
"""Maximum number of elements of an array that are written out."""

_MAX_TEXT_CHARS = 20_000  # of a text observation
_MAX_DEPTH = 8
_MASK = "action_mask"  # shown as the list of legal actions instead
_TYPED = {chr(code) for code in range(32, 127)}
_NAMES = {" ": "space", "\n": "new line", "\t": "tab", ",": "comma", "-": "hyphen"}


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
    if depth > _MAX_DEPTH:
        yield f"{label}…"
    elif isinstance(value, str):
        yield f"{label}{value[:_MAX_TEXT_CHARS]}"
    elif isinstance(value, Mapping):
        parts = space.get("spaces")
        for key, part in value.items():
            if key != _MASK:
                part_space = parts.get(str(key)) if isinstance(parts, Mapping) else None
                yield from _lines(f"{name}.{key}" if name else str(key), part, part_space or {}, depth + 1)
    elif isinstance(value, (list, tuple)) and space.get("type") == "Tuple":
        for index, (part, part_space) in enumerate(zip(value, space["spaces"])):
            yield from _lines(f"{name}[{index}]", part, part_space, depth + 1)
    else:
        yield from _numbers(label, value, space)


def _numbers(label: str, value: Any, space: Mapping[str, Any]) -> Iterator[str]:
    nested = value.tolist() if hasattr(value, "tolist") else value
    flat = list(_flat(nested))
    if not isinstance(nested, (list, tuple)):
        yield f"{label}{_format(nested)}{_range(space)}"
    elif len(flat) > MAX_NUMBERS:
        yield (
            f"{label}an array of shape {_shape(nested)} with values from {_format(min(flat))} to "
            f"{_format(max(flat))}, mean {_format(sum(flat) / len(flat))}: too large to be written out"
        )
    elif len(_shape(nested)) < 2:
        yield f"{label}[{', '.join(map(_format, flat))}]{_range(space)}"
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
    return (
        f"[{', '.join(_row(part) for part in value)}]" if isinstance(value, (list, tuple)) else _format(value)
    )


def _format(value: Any) -> str:
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
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f" (each from {_format(low)} to {_format(high)})"


def form_of(space: Mapping[str, Any]) -> str:
    """Return the form of an action of a space."""
    kind = space.get("type")
    if kind == "Box":
        shape = space.get("shape") or []
        bounds = ""
        if not isinstance(space.get("low"), list) and not isinstance(space.get("high"), list):
            bounds = f", each from {space.get('low')} to {space.get('high')}"
        if not shape:
            return f"a number{bounds}"
        nested = "" if len(shape) == 1 else f" in nested lists of the shape {list(shape)}"
        count = math.prod(shape)
        return f"a JSON list of {count} number{'s' if count != 1 else ''}{nested}{bounds}"
    if kind == "MultiDiscrete":
        starts = space.get("start", 0)
        tops = f"from {starts} up, of so many choices each: {space.get('nvec')}"
        return f"a JSON list of whole numbers, {tops}"
    if kind == "MultiBinary":
        return f"a JSON list of zeros and ones of the shape {list(space.get('shape') or [space.get('n')])}"
    if kind == "Discrete":
        start = int(space.get("start", 0))
        return f"a whole number from {start} to {start + int(space['n']) - 1}"
    if kind == "Text":
        return _text_form(space)
    parts = space.get("spaces")
    if kind == "Tuple" and isinstance(parts, Sequence):
        return "a JSON list of " + "; ".join(form_of(part) for part in parts)
    if kind == "Dict" and isinstance(parts, Mapping):
        return "a JSON object with " + "; ".join(f"{name!r}: {form_of(part)}" for name, part in parts.items())
    return f"an action of a space of the type {kind}"


def _text_form(space: Mapping[str, Any]) -> str:
    """Return the form of an action of a Text space, which lists its characters unless they include every
    character that can be typed."""
    low, high = space.get("min_length", 0), space.get("max_length", "a few")
    length = f"at most {high}" if not low else f"exactly {high}" if low == high else f"{low} to {high}"
    characters = sorted(set(space.get("characters") or _TYPED))
    form = f"a text of one line, {length} characters"
    return form if set(characters) >= _TYPED else f"{form}, of these only: {', '.join(_runs(characters))}"


def _runs(characters: Sequence[str]) -> Iterator[str]:
    """Yield sorted characters, with runs of three and more as "a-z"."""
    start = 0
    for index in range(1, len(characters) + 1):
        if index < len(characters) and ord(characters[index]) == ord(characters[index - 1]) + 1:
            continue
        run = characters[start:index]
        names = [_NAMES.get(character, character) for character in run]
        yield from [f"{names[0]}-{names[-1]}"] if len(run) > 2 else names
        start = index
