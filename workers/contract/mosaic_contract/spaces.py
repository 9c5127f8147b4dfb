"""Conversion of observation and action spaces to JSON and back.

Spaces may come from Gymnasium, the old gym, or any library with the same class names. A description is
`{"type", "shape", "dtype", …}`; bounds equal for all elements are one number, infinities the strings of the
codec. Gymnasium is imported only by `make_space`.
"""

from __future__ import annotations

import functools
import importlib
import math
import string
from typing import Any, Callable, Mapping

from mosaic_contract.arrays import ARRAY_LIMIT
from mosaic_contract.codec import as_number, finite
from mosaic_contract.errors import BadMessage

_MAX_TEXT = 4096  # characters of a Text space without an explicit limit


def describe_space(space: Any) -> dict[str, Any]:
    """Return a space as JSON. Its type is the name of its class or of a known base class.

    Discrete {n, start}, Box {low, high}, MultiDiscrete {nvec, start}, MultiBinary {n}, Tuple {spaces: list},
    Dict {spaces: by key}, Text {min_length, max_length, characters}, MissionSpace; the first four also have
    shape and dtype. Any other space has only its type.
    """
    names = [cls.__name__ for cls in type(space).__mro__]
    kind = next((name for name in names if name in _DETAILS), None)
    if kind is None:
        return {"type": names[0]}
    described: dict[str, Any] = {"type": kind}
    if kind in _ARRAYS:
        dtype = getattr(space.dtype, "__name__", space.dtype)  # some scripts set it to a scalar type
        described.update(shape=[int(length) for length in space.shape or ()], dtype=str(dtype))
    return {**described, **_DETAILS[kind](space)}


def make_space(description: Mapping[str, Any]) -> Any:
    """Return the Gymnasium space of a description. Raises `BadMessage` for an invalid description."""
    kind = description.get("type") if isinstance(description, Mapping) else None
    if not isinstance(kind, str) or kind not in _MAKERS:
        raise BadMessage(f"a space needs a type among {', '.join(_MAKERS)}, not {description!r:.200}")
    spaces = importlib.import_module("gymnasium.spaces")
    numpy = importlib.import_module("numpy")
    try:
        return _MAKERS[kind](description, spaces, numpy)
    except BadMessage:
        raise
    except Exception as error:  # any error that Gymnasium raises for untrusted input
        raise BadMessage(f"{description!r:.200} is not a valid space: {error!r}") from None


def start_of(space: Any) -> int:
    """Return the first value of a Discrete space; 0 for any other space."""
    return int(getattr(space, "start", 0)) if type(space).__name__ == "Discrete" else 0


def from_zero(space: Any) -> Any:
    """Return a Discrete space with the same number of choices, starting at 0; any other space itself."""
    return importlib.import_module("gymnasium.spaces").Discrete(int(space.n)) if start_of(space) else space


_ARRAYS = ("Discrete", "Box", "MultiDiscrete", "MultiBinary")


def _compact_bounds(values: Any) -> Any:
    """Return an array of bounds as one number if all are equal, else as nested lists."""
    all_equal = values.size > 0 and (values == values.flat[0]).all()
    return finite(values.flat[0].item() if all_equal else values.tolist())


def _multi_discrete(space: Any) -> dict[str, Any]:
    start = getattr(space, "start", None)  # since Gymnasium 1.0
    return {"nvec": space.nvec.tolist(), "start": 0 if start is None else _compact_bounds(start)}


def _multi_binary(space: Any) -> dict[str, Any]:
    shape = [int(length) for length in space.shape]
    return {"n": shape[0] if len(shape) == 1 else shape}


def _text(space: Any) -> dict[str, Any]:
    return {
        "min_length": int(getattr(space, "min_length", 0)),
        "max_length": int(getattr(space, "max_length", _MAX_TEXT)),
        "characters": "".join(sorted(getattr(space, "characters", string.printable))),
    }


_DETAILS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "Discrete": lambda space: {"n": int(space.n), "start": int(getattr(space, "start", 0))},
    "Box": lambda space: {name: _compact_bounds(getattr(space, name)) for name in ("low", "high")},
    "MultiDiscrete": _multi_discrete,
    "MultiBinary": _multi_binary,
    "Tuple": lambda space: {"spaces": [describe_space(part) for part in space.spaces]},
    "Dict": lambda space: {"spaces": {str(key): describe_space(part) for key, part in space.spaces.items()}},
    "MissionSpace": lambda space: {},
    "Text": _text,
}


def _make_box(description: Mapping[str, Any], spaces: Any, numpy: Any) -> Any:
    shape, dtype = tuple(description["shape"]), numpy.dtype(description["dtype"])
    if math.prod(shape) * dtype.itemsize > ARRAY_LIMIT:
        raise BadMessage(f"a Box of shape {shape} and {dtype} is larger than any array that may be sent")

    return spaces.Box(*box_bounds(description, dtype), shape, dtype)


def box_bounds(description: Mapping[str, Any], dtype: Any) -> tuple[Any, Any]:
    """Return the bounds of a described Box as NumPy arrays of its shape."""
    numpy, shape = importlib.import_module("numpy"), tuple(description["shape"])
    low, high = (numpy.full(shape, _infinite(description[name]), dtype) for name in ("low", "high"))
    return low, high


def _infinite(bound: Any) -> Any:
    if isinstance(bound, list):
        return [_infinite(part) for part in bound]
    return as_number(bound) if isinstance(bound, str) else bound


def _make_multi_discrete(description: Mapping[str, Any], spaces: Any, numpy: Any) -> Any:
    nvec, dtype = description["nvec"], description.get("dtype", "int64")
    start = numpy.full(numpy.shape(nvec), description.get("start", 0), dtype)
    return spaces.MultiDiscrete(nvec, dtype=dtype, **({"start": start} if start.any() else {}))


def _make_text(description: Mapping[str, Any], spaces: Any, numpy: Any) -> Any:
    return spaces.Text(
        description.get("max_length", _MAX_TEXT),
        min_length=description.get("min_length", 0),
        charset=description.get("characters", string.printable),
    )


@functools.lru_cache(None)
def _mission_class() -> Any:
    text = importlib.import_module("gymnasium.spaces").Text

    class MissionSpace(text):  # type: ignore[misc, valid-type]
        """MiniGrid's missions, described as such again."""

        def contains(self, x: Any) -> bool:
            return isinstance(x, str)

    return MissionSpace


_MAKERS: dict[str, Callable[[Mapping[str, Any], Any, Any], Any]] = {
    "Discrete": lambda d, spaces, numpy: spaces.Discrete(d["n"], start=d.get("start", 0)),
    "Box": _make_box,
    "MultiDiscrete": _make_multi_discrete,
    "MultiBinary": lambda d, spaces, numpy: spaces.MultiBinary(d["n"]),
    "Tuple": lambda d, spaces, numpy: spaces.Tuple([make_space(part) for part in d["spaces"]]),
    "Dict": lambda d, spaces, numpy: spaces.Dict({k: make_space(part) for k, part in d["spaces"].items()}),
    "Text": _make_text,
    "MissionSpace": lambda d, spaces, numpy: _mission_class()(_MAX_TEXT, min_length=0),
}
