"""Validation of observations against their space: converted if lossless, otherwise rejected with the reason.

A list becomes an array, and a number of another type gets the space's type; NaN and infinities are never
passed on. NumPy is imported when a check is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence  # typing's are ten times as slow in `isinstance`
from importlib import import_module
from numbers import Real
from typing import Any, Callable

from mosaic_contract.errors import quoted
from mosaic_contract.space_compatibility import text_of
from mosaic_contract.spaces import describe_space

Convert = Callable[[Any], Any]


class Misfit(ValueError):
    """An observation that violates its space. `path` is the invalid part, such as "['pos']", and the text the
    problem, such as "has the shape (3,)"."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.path = path


class NotFinite(Misfit):
    """An observation with a NaN or an infinity; the text is the value."""


def converter(space: Any, contained: bool = False) -> Convert:
    """Return the function that converts an observation to the form of its space, or raises `Misfit`.

    `contained`: whether Discrete observations must be in their space. Some environments observe -1 before the
    first move.
    """
    kind = type(space).__name__
    if kind == "Box":
        return array_converter(tuple(space.shape), space.dtype, text_of(describe_space(space)))
    if kind == "Discrete":
        return _contained(space) if contained else _number
    return _container(space, contained) if kind in ("Dict", "Tuple") else lambda observation: observation


def excluded_numbers(space: Any, observation: Any, path: str = "") -> Iterator[Misfit]:
    """Yield the parts of a converted observation with whole numbers outside their space. Bounds of other
    numbers are often only estimates, and networks accept values beyond them."""
    kind = type(space).__name__
    if kind in ("Dict", "Tuple"):
        for key, part in _parts(space):
            yield from excluded_numbers(part, observation[key], f"{path}[{key!r}]")
    elif kind == "Box" and space.dtype.kind in "iu":
        outside = (observation < space.low) | (observation > space.high)
        if outside.any():
            value, low, high = (array[outside][0] for array in (observation, space.low, space.high))
            yield Misfit(f"has the value {value}; its space allows {low} to {high}", path)
    elif kind in ("Discrete", "MultiDiscrete", "MultiBinary") and not space.contains(observation):
        yield Misfit(f"is {quoted(observation)}, which is not in its space {space}", path)


def _parts(space: Any) -> list[tuple[Any, Any]]:
    return list(space.spaces.items() if type(space).__name__ == "Dict" else enumerate(space.spaces))


def _number(value: Any) -> Any:
    """Return a discrete value given as an array of size 1 as a number."""
    return value.item() if getattr(value, "shape", ()) == (1,) else value


def _contained(space: Any) -> Convert:
    start = int(getattr(space, "start", 0))
    end = start + int(space.n)

    def convert(value: Any) -> Any:
        number = _number(value)
        if isinstance(number, Real) and not start <= float(number) < end:
            raise Misfit(f"is {quoted(value)}, which is not in its space {space}")
        return number

    return convert


def array_converter(shape: tuple[int, ...], dtype: Any, expected: str) -> Convert:
    """Return the function that converts a value to an array of this shape and dtype, without loss, or raises
    `Misfit`. `expected` is the text of the space."""
    numpy = import_module("numpy")
    dtype, array = numpy.dtype(dtype), numpy.ndarray
    floats, isfinite = dtype.kind == "f", math.isfinite
    product = array.dot if len(shape) == 1 else numpy.vdot

    def convert(value: Any) -> Any:
        if type(value) is not array or value.dtype != dtype or value.shape != shape:
            value = _as_array(numpy, value, shape, dtype, expected)
        if floats and not isfinite(product(value, value)):  # far faster than checking every number
            invalid = value[~numpy.isfinite(value)]
            if invalid.size:  # not an overflow of the product
                raise NotFinite(str(invalid.flat[0]))
        return value

    return convert


def _as_array(numpy: Any, value: Any, shape: tuple[int, ...], dtype: Any, expected: str) -> Any:
    try:
        array = numpy.asarray(value)
    except ValueError:  # lists of different lengths
        array = numpy.asarray(value, dtype=object)
    if array.dtype.kind not in "bifu":
        raise Misfit(f"is {quoted(value)}; its space is {expected}")
    if array.shape != shape and not array.size == math.prod(shape) == 1:
        raise Misfit(f"has the shape {array.shape}; its space has {shape}")
    converted = array.reshape(shape).astype(dtype)
    if dtype.kind != "f" and not numpy.array_equal(converted, array.reshape(shape)):
        raise Misfit(f"is {quoted(value)}, which {dtype} of its space cannot hold")
    return converted


def _container(space: Any, contained: bool) -> Convert:
    """Return the converter of a Dict or a Tuple. It returns the observation itself if no part had to be
    converted."""
    named = type(space).__name__ == "Dict"
    kind: Any = Mapping if named else Sequence
    parts = [(key, converter(part, contained)) for key, part in _parts(space)]

    def convert(observation: Any) -> Any:
        if not isinstance(observation, kind) or isinstance(observation, str):
            raise Misfit(f"is {quoted(observation)}, not a {'dict' if named else 'tuple'}")
        changed: dict[Any, Any] = {}
        for key, part in parts:
            try:
                value = observation[key]
            except LookupError:
                raise Misfit(f"lacks {key!r}") from None
            try:
                checked = part(value)
            except Misfit as misfit:
                raise type(misfit)(str(misfit), f"[{key!r}]{misfit.path}") from None
            if checked is not value:
                changed[key] = checked
        if not changed:
            return observation
        if named:
            return {**observation, **changed}
        return tuple(changed.get(index, value) for index, value in enumerate(observation))

    return convert
