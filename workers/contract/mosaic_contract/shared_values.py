"""Values whose arrays are in memory that two processes share, with references to them in messages.

A reference has the form of the value, with `{"__shared__": [dtype, shape, start]}` for each array. Each value
overwrites the last one, so the two processes take turns. Requires NumPy.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from importlib import import_module
from typing import Any

from mosaic_contract.arrays import PLAIN, is_numeric_code, pack, unpack
from mosaic_contract.errors import BadMessage

SIZE_LIMIT = 1 << 30
"""Maximum size of the memory in bytes."""

_MARK = "__shared__"
_ALIGNMENT = 16  # bytes
_MAX_VIEWS = 64


def unnamed_file() -> int:
    """Return the descriptor of an empty file without a name, in memory if possible."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("mosaic")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def reserve(file: int, start: int, size: int) -> None:
    """Reserve memory in a file. Raises `OSError` if there is no space: a later write to missing memory would
    be a fatal SIGBUS."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, start, size)
    else:
        os.ftruncate(file, max(start + size, os.fstat(file).st_size))


def aligned(size: int) -> int:
    """Return the bytes that an array of this size takes, so that the next one is aligned."""
    return math.ceil(size / _ALIGNMENT) * _ALIGNMENT


class SharedValues:
    """The memory of the file with this descriptor, which both processes have."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._map: mmap.mmap | None = None
        self._size = 0
        self._views: dict[tuple[Any, ...], Any] = {}

    def write(self, value: Any, start: int = 0) -> Any:
        """Write the arrays of a value from `start` on, and return the reference to the value for a message.
        Raises `ValueError` for more than `SIZE_LIMIT`, and `OSError` if there is no space."""
        return self._write(value, start)[0]

    def read(self, reference: Any) -> Any:
        """Return a copy of a value. Raises `BadMessage` for an invalid reference."""
        if type(reference) in PLAIN or _has_plain_parts(reference):
            return reference
        if type(reference) is dict:
            if _MARK in reference:
                return self._array(*reference[_MARK])
            if "__ndarray__" not in reference:
                return {key: self.read(part) for key, part in reference.items()}
        if type(reference) is list:
            return [self.read(part) for part in reference]
        return unpack(reference)

    def _write(self, value: Any, start: int) -> tuple[Any, int]:
        """Write a value from `start` on; return its reference and the start of the next one."""
        if type(value) in PLAIN or _has_plain_parts(value):
            return value, start
        if _is_array(value):
            end = start + value.nbytes
            if end > self._size:
                self._grow(end)
            dtype, shape = value.dtype.str, value.shape
            self._view(dtype, shape, start)[...] = value
            return {_MARK: [dtype, shape, start]}, start + aligned(value.nbytes)
        if isinstance(value, dict):
            parts = {}
            for key, part in value.items():
                parts[key], start = self._write(part, start)
            return parts, start
        if isinstance(value, (list, tuple)):
            references = []
            for part in value:
                reference, start = self._write(part, start)
                references.append(reference)
            return references, start
        return pack(value), start

    def _array(self, dtype: str, shape: Any, start: int) -> Any:
        try:
            return self._view(dtype, tuple(shape), start).copy()
        except (TypeError, ValueError) as error:
            raise BadMessage(f"invalid reference to shared memory {dtype, shape, start}: {error}") from None

    def _view(self, dtype: str, shape: tuple[int, ...], start: int) -> Any:
        """Return an array in the memory; recent ones are kept."""
        view = self._views.get((dtype, shape, start))
        if view is None:
            numpy = import_module("numpy")
            if start + numpy.dtype(dtype).itemsize * math.prod(shape) > self._size:
                self._remap()
            if len(self._views) >= _MAX_VIEWS:
                self._views.clear()
            view = self._views[dtype, shape, start] = numpy.ndarray(shape, dtype, self._map, start)
        return view

    def _grow(self, size: int) -> None:
        if size > SIZE_LIMIT:
            raise ValueError(
                f"{size >> 20} MiB of arrays; the maximum is {SIZE_LIMIT >> 20} MiB: split them into parts"
            )
        reserve(self._descriptor, 0, size)
        self._remap()

    def _remap(self) -> None:
        """Map all of the file. Raises `ValueError` if it is empty."""
        self._views.clear()
        self._size = os.fstat(self._descriptor).st_size
        self._map = mmap.mmap(self._descriptor, self._size)


def _has_plain_parts(value: Any) -> bool:
    """Return whether a value is a dict, list or tuple that contains neither arrays nor other containers."""
    if type(value) is dict:
        return PLAIN.issuperset(map(type, value.values()))
    return type(value) in (list, tuple) and PLAIN.issuperset(map(type, value))


def _is_array(value: Any) -> bool:
    code = getattr(getattr(value, "dtype", None), "str", None)
    return is_numeric_code(code) and value.ndim > 0 and value.size > 0
