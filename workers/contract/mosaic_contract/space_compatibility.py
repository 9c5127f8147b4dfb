"""Compatibility of the space that a policy was trained for with another, both in the form of
`describe_space`.

The comparison covers everything that a network depends on: kinds, shapes, numbers of choices, and the bounds
of continuous actions. It ignores dtypes and the bounds of observations, which differ between releases of an
environment.
"""

from __future__ import annotations

import math
from typing import Any, Iterator, Mapping, Sequence

from mosaic_contract.codec import flat_numbers

_TOLERANCE = 1e-5  # relative, for bounds: they are 32-bit numbers
_SIZE = {"Box": "shape", "Discrete": "n", "MultiDiscrete": "nvec", "MultiBinary": "n"}


def misfit(trained: Mapping[str, Any], offered: Mapping[str, Any], subject: str) -> str:
    """Return why a policy trained for one space cannot be used on the space `offered`, "" if it can.
    `subject` is "observations" or "actions", the first word of the sentence."""
    if _form(trained) != _form(offered):
        return f"{subject} are {text_of(offered)}, the policy was trained for {text_of(trained)}"
    if subject == "actions" and not _same_bounds(trained, offered):
        return f"{subject} reach {_bounds(offered)}, the policy was trained for {_bounds(trained)}"
    return ""


def settings_advice(policy: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the advice on a misfit of `policy` if its environment was made with keywords."""
    if settings:
        values = ", ".join(f"{name}={value!r:.100}" for name, value in settings.items())
        keywords = f"env_kwargs={dict(settings)!r:.500}"
        yield f"{policy} was trained with {values}: give the environment the same ({keywords})"


def text_of(space: Mapping[str, Any]) -> str:
    """Return a short form of a space: "Discrete(2)", "Box(84×84×3)", "Dict(image: Box(7×7×3), …)"."""
    kind = str(space.get("type", "unknown"))
    if kind == "Discrete":
        start = space.get("start", 0)
        return f"Discrete({space.get('n')}{f', from {start}' if start else ''})"
    if kind == "Box":
        return f"Box({'×'.join(map(str, space.get('shape', ()))) or 'one number'})"
    if kind == "MultiDiscrete":
        return f"MultiDiscrete({', '.join(f'{n:.0f}' for n in flat_numbers(space.get('nvec', [])))})"
    if kind == "MultiBinary":
        size = space.get("n")
        return f"MultiBinary({'×'.join(map(str, size)) if isinstance(size, list) else size})"
    inner = space.get("spaces")
    if isinstance(inner, Mapping):
        return f"{kind}({', '.join(f'{name}: {text_of(part)}' for name, part in inner.items())})"
    if isinstance(inner, Sequence):
        return f"{kind}({', '.join(map(text_of, inner))})"
    return kind


def _form(space: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a space that must be equal."""
    kind, inner = space.get("type"), space.get("spaces", ())
    parts = inner.items() if isinstance(inner, Mapping) else enumerate(inner)
    start = list(flat_numbers(space.get("start", 0)))
    return {
        "type": kind,
        "size": space.get(_SIZE.get(str(kind), "")),
        "start": start if any(start) else 0,
        "spaces": {key: _form(part) for key, part in parts},
    }


def _same_bounds(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return all(_nearly_equal(a[bound], b[bound]) for bound in ("low", "high") if bound in a and bound in b)


def _nearly_equal(first: Any, second: Any) -> bool:
    """Return whether two bounds are equal; a single number is the bound of every element."""
    shorter, longer = sorted((list(flat_numbers(first)), list(flat_numbers(second))), key=len)
    if len(shorter) == 1:
        shorter = shorter * len(longer)
    return len(shorter) == len(longer) and all(map(_close, shorter, longer))


def _close(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def _bounds(space: Mapping[str, Any]) -> str:
    low, high = (
        ", ".join(f"{number:g}" for number in flat_numbers(space.get(bound, []))) for bound in ("low", "high")
    )
    return f"from {f'({low})' if ',' in low else low} to {f'({high})' if ',' in high else high}"
