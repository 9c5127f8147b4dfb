"""Conversion of actions, masks and observations between Jumanji and the interface of arenas and learners.

If a mask applies to combinations of several numbers (BinPack: this item in that space), an action is the
index of a combination, because Gymnasium's masks apply only to single numbers.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Iterator

import gymnasium
import jax.numpy as jnp
import numpy as np
from jumanji.specs import BoundedArray, MultiDiscreteArray, Spec, jumanji_specs_to_gym_spaces

Choose = Callable[[Any, Any], Any]
"""A policy: Jumanji's observation and a PRNG key → the arena's action."""
_MASK = "action_mask"
_MAX_SPAN = 1e6  # larger bounds carry no information


class ActionConversion:
    """The actions of one environment. `space` is the action space for arenas and learners, `mask_size` the
    number of elements of a mask, 0 if there is none."""

    def __init__(self, env: Any) -> None:
        spec, mask = env.action_spec, getattr(env.observation_spec, "action_mask", None)
        several = isinstance(spec, MultiDiscreteArray)
        self._counts = tuple(int(n) for n in np.ravel(spec.num_values)) if several else ()
        if mask is not None and not several and len(spec.shape) == 1:  # MultiCVRP's numbers are a Box
            several, self._counts = True, (int(mask.shape[1]),) * int(mask.shape[0])
        self._joint = several and mask is not None and tuple(mask.shape) == self._counts
        self.mask_size = 0 if mask is None else math.prod(mask.shape)
        if self._joint:
            self.space: Any = gymnasium.spaces.Discrete(math.prod(self._counts))
        elif several:
            self.space = gymnasium.spaces.MultiDiscrete(self._counts)
        else:
            self.space = jumanji_specs_to_gym_spaces(spec)

    def to_jumanji(self, action: Any) -> Any:
        """Return an action in Jumanji's form (a JAX array)."""
        return jnp.stack(jnp.unravel_index(action, self._counts)) if self._joint else jnp.asarray(action)

    def to_arena(self, action: Any) -> Any:
        """Return the arena's form of a Jumanji action (a JAX array)."""
        return jnp.ravel_multi_index(tuple(action), self._counts, mode="clip") if self._joint else action

    def allowed(self, observation: Any) -> Any:
        """Return the mask in an arena's observation in the form of Gymnasium's `sample`; None if there is
        none."""
        if not self.mask_size:
            return None
        mask = np.asarray(observation["action_mask"]).astype(np.int8)
        return tuple(mask) if self._counts and not self._joint else mask.ravel()


def like(template: Any, observation: Any) -> Any:
    """Return Jumanji's observation for an arena's observation: nested dicts of arrays. `template` is any
    observation of the environment."""
    if hasattr(template, "_asdict"):
        parts = template._asdict()
        return template._replace(**{name: like(part, observation[name]) for name, part in parts.items()})
    if dataclasses.is_dataclass(template):
        names = [field.name for field in dataclasses.fields(template)]
        parts = {name: like(getattr(template, name), observation[name]) for name in names}
        return dataclasses.replace(template, **parts)  # type: ignore[type-var]
    array = np.asarray(observation)
    if array.size != math.prod(template.shape):
        raise ValueError(f"an observation has {array.shape} where the policy takes {template.shape}")
    return array.astype(template.dtype).reshape(template.shape)


class Vector:
    """A converter of observations to vectors (size,) of float32. Bounded numbers are scaled to [0, 1]; the
    action mask is last."""

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
        wide = np.isfinite(span) & (span > 1) & (span < _MAX_SPAN)
        return (numbers - np.where(wide, low, 0)) / np.where(wide, span, 1)


def _parts(spec: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the arrays of a specification, with their paths."""
    inner = {name: part for name, part in vars(spec).items() if isinstance(part, Spec)}
    if not inner:
        yield path, spec
    for name, part in inner.items():
        yield from _parts(part, (*path, name))
