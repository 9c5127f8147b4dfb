"""Observations: from what arenas send to Jumanji's own, and as one vector for networks that take vectors."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Iterator

import jax.numpy as jnp
import numpy as np
from jumanji.specs import BoundedArray, Spec

_MASK = "action_mask"
_WIDEST = 1e6  # of bounds that say something


def like(template: Any, given: Any) -> Any:
    """Jumanji's observation of what an arena sent: nested dicts of arrays. `template` is any of its kind."""
    if hasattr(template, "_asdict"):
        parts = template._asdict()
        return template._replace(**{name: like(part, given[name]) for name, part in parts.items()})
    if dataclasses.is_dataclass(template):
        names = [field.name for field in dataclasses.fields(template)]
        parts = {name: like(getattr(template, name), given[name]) for name in names}
        return dataclasses.replace(template, **parts)  # type: ignore[type-var]
    array = np.asarray(given)
    if array.size != math.prod(template.shape):
        raise ValueError(f"an observation has {array.shape} where the policy takes {template.shape}")
    return array.astype(template.dtype).reshape(template.shape)


class Vector:
    """Flatten an observation to a vector (size,) of float32. Bounded numbers are scaled to [0, 1]; the action
    mask comes last.
    """

    def __init__(self, spec: Any) -> None:
        self._parts = sorted(_parts(spec), key=lambda part: part[0] == (_MASK,))
        self.size = sum(math.prod(array.shape) for _, array in self._parts)

    def __call__(self, observation: Any) -> Any:
        return jnp.concatenate([self._numbers(observation, path, array) for path, array in self._parts])

    def _numbers(self, observation: Any, path: tuple[str, ...], array: Any) -> Any:
        for name in path:
            observation = getattr(observation, name)
        numbers = jnp.ravel(observation).astype(jnp.float32)
        if not isinstance(array, BoundedArray):
            return numbers
        low, high = (np.broadcast_to(bound, array.shape).ravel() for bound in (array.minimum, array.maximum))
        span = high.astype(float) - low
        wide = np.isfinite(span) & (span > 1) & (span < _WIDEST)
        return (numbers - np.where(wide, low, 0)) / np.where(wide, span, 1)


def _parts(spec: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The arrays of a specification, with the names that lead to them."""
    inner = {name: part for name, part in vars(spec).items() if isinstance(part, Spec)}
    if not inner:
        yield path, spec
    for name, part in inner.items():
        yield from _parts(part, (*path, name))
