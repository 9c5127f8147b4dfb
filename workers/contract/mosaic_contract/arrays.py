"""Arrays in messages: exact, bounded, never a pickle.

An array is `{"__ndarray__": {"dtype", "shape", "data"}}`, data base64 of its C-order bytes, little-endian.
Works on whatever looks like a NumPy array; NumPy itself is imported when the first array arrives, and where
there is none arrays arrive as nested lists.
"""

from __future__ import annotations

import binascii
import functools
import importlib
import itertools
import math
import struct
from typing import Any, Iterator, Mapping, Sequence

from mosaic_contract.errors import BadMessage

ARRAY_LIMIT = 64 << 20
"""Largest array in bytes."""

_MARK = "__ndarray__"
_MOST_DIMENSIONS = 32
_PLAIN = frozenset((str, int, float, bool, type(None)))
_DTYPES = {  # name: (what NumPy calls it with its byte order, its letter in `struct`, bytes)
    "bool": ("|b1", "?", 1),
    "int8": ("|i1", "b", 1),
    "uint8": ("|u1", "B", 1),
    "int16": ("<i2", "h", 2),
    "uint16": ("<u2", "H", 2),
    "int32": ("<i4", "i", 4),
    "uint32": ("<u4", "I", 4),
    "int64": ("<i8", "q", 8),
    "uint64": ("<u8", "Q", 8),
    "float16": ("<f2", "e", 2),
    "float32": ("<f4", "f", 4),
    "float64": ("<f8", "d", 8),
}
_NAMES = {code: name for name, (code, _, _) in _DTYPES.items()}


def pack(value: Any) -> Any:
    """Return a value as JSON can hold it: arrays in the form above, scalars of numeric libraries as Python's,
    tuples as lists, inside dicts and lists too.

    Arrays of other kinds (strings, objects) become nested lists. Any other value stays as it is.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        return {key: pack(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [pack(item) for item in value]
    dtype = getattr(value, "dtype", None)
    if dtype is not None and hasattr(value, "tobytes"):
        return _pack_array(value, dtype)
    if hasattr(value, "tolist"):
        return pack(value.tolist())
    if isinstance(value, Mapping):
        return {key: pack(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [pack(item) for item in value]
    return value


def unpack(value: Any) -> Any:
    """Reverse `pack`: arrays become NumPy's (writable), or nested lists where there is no NumPy.

    Raises `BadMessage` for an invalid array (unknown dtype, data that do not fill its shape, more than
    64 MiB) and for values that are nested too deeply.
    """
    try:
        return _unpack(value)
    except RecursionError:
        raise BadMessage("a value is nested too deeply") from None


def _pack_array(value: Any, dtype: Any) -> Any:
    if not value.shape and not hasattr(value, "__setitem__"):
        return value.item()  # a scalar
    code = getattr(dtype, "str", "")
    if code not in _NAMES:
        little = code.replace(">", "<")
        if little not in _NAMES:
            return pack(value.tolist())
        value, code = value.astype(little), little
    data = binascii.b2a_base64(value.tobytes(), newline=False).decode("ascii")
    return {_MARK: {"dtype": _NAMES[code], "shape": list(value.shape), "data": data}}


def _unpack(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        if _MARK in value and len(value) == 1:
            return _unpack_array(value[_MARK])
        return {key: _unpack(item) for key, item in value.items()}
    if kind is list:
        return [_unpack(item) for item in value]
    return value


def _unpack_array(array: Any) -> Any:
    try:
        name, shape, text = array["dtype"], array["shape"], array["data"]
        code, letter, size = _DTYPES[name]
    except (TypeError, KeyError):
        raise BadMessage(
            f"an array needs dtype (one of {', '.join(_DTYPES)}), shape and data, and this is {array!r:.200}"
        ) from None
    count = _count(shape, size)
    try:
        data = binascii.a2b_base64(text)
    except (TypeError, ValueError) as error:
        raise BadMessage(f"the data of an array are not base64: {error}") from None
    if len(data) != count * size:
        raise BadMessage(
            f"an array of shape {shape} and dtype {name} has {count * size} bytes, not {len(data)}"
        )
    numpy = _numpy()
    if numpy is None:
        return nested(iter(struct.unpack(f"<{count}{letter}", data)), shape)
    return numpy.frombuffer(bytearray(data), code).reshape(shape) if count else numpy.zeros(shape, code)


def _count(shape: Any, size: int) -> int:
    """How many numbers an array of this shape has. Raises `BadMessage`."""
    if (
        type(shape) is not list
        or len(shape) > _MOST_DIMENSIONS
        or not all(type(length) is int and 0 <= length <= ARRAY_LIMIT for length in shape)
    ):
        raise BadMessage(f"the shape of an array is a list of its sizes, not {shape!r:.100}")
    room = size * math.prod(max(length, 1) for length in shape)  # lists need room for a size of 0 too
    if room > ARRAY_LIMIT:
        raise BadMessage(f"an array of shape {shape} has {room} bytes, and {ARRAY_LIMIT} may be sent")
    return math.prod(shape)


def nested(numbers: Iterator[Any], shape: Sequence[int]) -> Any:
    """Numbers in C order as nested lists of a shape; the number itself for the shape ()."""
    if not shape:
        return next(numbers)
    if len(shape) == 1:
        return list(itertools.islice(numbers, shape[0]))
    return [nested(numbers, shape[1:]) for _ in range(shape[0])]


@functools.lru_cache(maxsize=None)
def _numpy() -> Any:
    """Return NumPy, None where it is not installed."""
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None
