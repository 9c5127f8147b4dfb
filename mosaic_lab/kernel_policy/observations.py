"""Observations as arrays that fit a policy's space: one, or several in arrays with a row for each."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from mosaic_contract.observation_check import Misfit, NotFinite, array_converter
from mosaic_contract.space_compatibility import text_of

from mosaic_lab.errors import ConfigurationError

Space = Mapping[str, Any]

_converter = functools.lru_cache(maxsize=64)(array_converter)


def arranged(space: Space, observation: Any) -> tuple[Any, int | None]:
    """Return the observations as arrays, and the number of rows: None for a single observation.

    Raises ConfigurationError for observations that do not belong to the described space.
    """
    parts: dict[str, int | None] = {}
    try:
        value = _arranged(space, observation, "", parts)
        counts = dict.fromkeys(parts.values())
        if len(counts) > 1:
            texts = ", ".join(f"{path} {rows or 'one'}" for path, rows in parts.items())
            raise Misfit(f"has parts with different numbers of observations: {texts}")
    except NotFinite as misfit:
        raise ConfigurationError(f"the observation{misfit.path} {misfit}: numbers must be finite") from None
    except Misfit as misfit:
        raise ConfigurationError(
            f"the observation{misfit.path} {misfit}. This policy observes {text_of(space)}: pass one such "
            "observation, or arrays with a row for each of several"
        ) from None
    return value, next(iter(counts), None)


def _arranged(space: Space, observation: Any, path: str, parts: dict[str, int | None]) -> Any:
    """Return an observation as arrays, and add the number of rows of each part to ``parts`` by path."""
    if "spaces" in space:
        spaces = space["spaces"]
        named = isinstance(spaces, Mapping)
        if not isinstance(observation, Mapping if named else Sequence) or isinstance(observation, str):
            raise Misfit(f"is a {type(observation).__name__}, not a {'dict' if named else 'tuple'}", path)
        values = {}
        for key, inner in spaces.items() if named else enumerate(spaces):
            try:
                part = observation[key]
            except LookupError:
                raise Misfit(f"lacks {key!r}", path) from None
            values[key] = _arranged(inner, part, f"{path}[{key!r}]", parts)
        return values if named else tuple(values.values())
    if "shape" not in space:
        parts[path] = None
        return observation
    shape = tuple(space["shape"])
    observed = observation.shape if isinstance(observation, np.ndarray) else _shape(observation)
    batch = len(observed) == len(shape) + 1 and observed[1:] == shape
    rows = parts[path] = observed[0] if batch else None
    if rows == 0:
        raise Misfit("has no rows", path)
    try:
        array = _converter((rows, *shape) if batch else shape, space["dtype"], text_of(space))(observation)
    except Misfit as misfit:
        raise type(misfit)(_sentence(misfit), path) from None
    if not path and space["type"] != "Box" and not _contained(space, array):  # nested ones may start at -1
        raise Misfit(f"has values outside {text_of(space)}", path)
    return array.item() if space["type"] == "Discrete" and not batch else array


def _sentence(misfit: Misfit) -> str:
    text = str(misfit)
    return text if " " in text else f"has the value {text}"  # NaN or an infinity


def _shape(value: Any) -> tuple[int, ...]:
    try:
        return np.shape(value)
    except ValueError:  # lists of different lengths
        return ()


def _contained(space: Space, array: Any) -> bool:
    """Return whether integers are in a Discrete, MultiDiscrete or MultiBinary space."""
    low = np.asarray(space.get("start", 0))
    count = {"Discrete": space.get("n"), "MultiDiscrete": space.get("nvec")}.get(space["type"], 2)
    return bool(np.all((array >= low) & (array < low + np.asarray(count))))
