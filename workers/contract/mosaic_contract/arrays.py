"""Arrays in messages: lossless, limited in size, without pickle.

An array is encoded as `{"__ndarray__": {"dtype", "shape", "data"}}`; data is the base64 encoding of its bytes
in C order, little-endian. Any object with NumPy's array interface is accepted. NumPy itself is imported when
the first array arrives; without NumPy, arrays are decoded to nested lists.
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
"""Maximum size of an array in bytes."""

_MARK = "__ndarray__"
_MAX_DIMENSIONS = 32
PLAIN = frozenset((str, int, float, bool, type(None)))
_DTYPES = {  # name: (NumPy's name with byte order, letter in `struct`, bytes)
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


def is_numeric(dtype: object) -> bool:
    """Return whether arrays with the dtype of this name can be encoded without loss."""
    return dtype in _DTYPES


def is_numeric_code(code: object) -> bool:
    """Return whether arrays with the dtype of this NumPy code, such as "<f4", can be encoded without loss."""
    return code in _NAMES


def pack(value: Any) -> Any:
    """Return a value, and everything inside dicts and lists, in a form that JSON can represent: arrays in the
    form above, scalars of numeric libraries as Python's, tuples as lists.

    Arrays of other types (strings, objects) become nested lists. Any other value is returned unchanged.
    """
    kind = type(value)
    if kind in PLAIN:
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


def pack_rows(values: Sequence[Any]) -> Any:
    """Pack several values: arrays of equal type and shape as one array with a row for each, others as a
    list."""
    kind, dtype, shape = type(values[0]), getattr(values[0], "dtype", None), getattr(values[0], "shape", ())
    uniform = shape and all(
        type(value) is kind and value.dtype == dtype and value.shape == shape for value in values
    )
    return pack(_numpy().array(values)) if uniform else [pack(value) for value in values]


def unpack(value: Any) -> Any:
    """Reverse `pack`: arrays become writable NumPy arrays, or nested lists without NumPy.

    Raises `BadMessage` for an invalid array (unknown dtype, data that do not match its shape, more than 64
    MiB) and for values nested too deeply.
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
            f"an array needs dtype (one of {', '.join(_DTYPES)}), shape and data, not {array!r:.200}"
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
    """Return the number of elements of an array with this shape. Raises `BadMessage`."""
    if (
        type(shape) is not list
        or len(shape) > _MAX_DIMENSIONS
        or not all(type(length) is int and 0 <= length <= ARRAY_LIMIT for length in shape)
    ):
        raise BadMessage(f"the shape of an array must be a list of its sizes, not {shape!r:.100}")
    # empty dimensions still need room for their lists
    nbytes = size * math.prod(max(length, 1) for length in shape)
    if nbytes > ARRAY_LIMIT:
        raise BadMessage(f"an array of shape {shape} has {nbytes} bytes; the maximum is {ARRAY_LIMIT}")
    return math.prod(shape)


def nested(numbers: Iterator[Any], shape: Sequence[int]) -> Any:
    """Return numbers in C order as nested lists of a shape; the number itself for the shape ()."""
    if not shape:
        return next(numbers)
    if len(shape) == 1:
        return list(itertools.islice(numbers, shape[0]))
    return [nested(numbers, shape[1:]) for _ in range(shape[0])]


@functools.lru_cache(maxsize=None)
def _numpy() -> Any:
    """Return NumPy, None if it is not installed."""
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None
