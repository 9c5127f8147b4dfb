"""The layout of an agent's region of shared memory, the same in both processes.

A region has the outcome of the latest step, the next action and the latest observation; in a team also the
agent's status in the episode and the mask of its actions. The parts of actions and observations that
have a fixed shape are stored as arrays; the others are passed in messages. Requires NumPy.
"""

from __future__ import annotations

import functools
import itertools
import math
import mmap
import struct
from importlib import import_module
from typing import Any, Mapping, NamedTuple

from mosaic_contract.arrays import is_numeric
from mosaic_contract.shared_values import aligned, reserve

Description = Mapping[str, Any]
"""A space in the form of `describe_space`."""

_OUTCOME = struct.Struct("=d??")  # reward, terminated, truncated
_STATUS = struct.Struct("=????")  # the fields of `Status`
_CONTAINERS = ("Dict", "Tuple")


class Status(NamedTuple):
    """An agent's status in a team's episode: it is present, acts next, has observed the latest step, and has
    a mask of its actions."""

    present: bool
    acts: bool
    observes: bool
    masked: bool


class Region:
    """The region that begins at `start` of the file `memory`. The server reserves it first."""

    def __init__(self, memory: int, start: int, observations: Description, actions: Description) -> None:
        masks = _masks(actions)
        first, second, third = itertools.accumulate((_HEAD, _size(masks), _size(actions)))
        self._map = mmap.mmap(memory, third + _size(observations), offset=start)
        self.mask = import_module("numpy").ndarray(masks["shape"], masks["dtype"], self._map, first)
        self.action = _part(actions, self._map, second)
        self.observation = _part(observations, self._map, third)
        # reward, terminated and truncated of the latest step
        self.write_outcome = functools.partial(_OUTCOME.pack_into, self._map, 0)
        self.read_outcome = functools.partial(_OUTCOME.unpack_from, self._map)
        self.write_status = functools.partial(_STATUS.pack_into, self._map, _OUTCOME.size)

    def read_status(self) -> Status:
        return Status._make(_STATUS.unpack_from(self._map, _OUTCOME.size))

    def write_mask(self, mask: Any) -> bool:
        """Return whether the mask has the fixed shape of the actions, and was written."""
        if import_module("numpy").shape(mask) != self.mask.shape or not self.mask.size:
            return False
        self.mask[...] = mask
        return True


def reserve_region(memory: int, start: int, observations: Description, actions: Description) -> int:
    """Reserve the memory of a region (`reserve`) and return the start of the next one."""
    size = _HEAD + _size(_masks(actions)) + _size(actions) + _size(observations)
    reserve(memory, start, size)
    pages = math.ceil(size / mmap.ALLOCATIONGRANULARITY)
    return start + pages * mmap.ALLOCATIONGRANULARITY


class ArrayPart:
    """An array, or the number of a Discrete space. `write` and `read` exchange nothing in messages."""

    def __init__(self, space: Description, memory: mmap.mmap, start: int) -> None:
        numpy = import_module("numpy")
        self._array = numpy.ndarray(tuple(space["shape"]), space["dtype"], memory, start)
        self._number = space["type"] == "Discrete"

    def write(self, value: Any) -> None:
        self._array[...] = value

    def read(self, message: Any) -> Any:
        return self._array.item() if self._number else self._array.copy()


class MessagePart:
    """A value without a fixed shape, which is passed in a message; a string, such as a mission, only if it
    differs from the last one."""

    def __init__(self) -> None:
        self._text: str | None = None

    def write(self, value: Any) -> Any:
        last, self._text = self._text, value if type(value) is str else None
        return None if self._text is not None and self._text == last else value

    def read(self, message: Any) -> Any:
        value = self._text if message is None else message
        self._text = value if type(value) is str else None
        return value


class ContainerPart:
    """The value of a Dict or Tuple space."""

    def __init__(self, space: Description, memory: mmap.mmap, start: int) -> None:
        self._named = space["type"] == "Dict"
        self._parts = []
        for key, inner in _items(space):
            self._parts.append((key, str(key), _part(inner, memory, start)))
            start += _size(inner)

    def write(self, value: Any) -> Any:
        """Write a value. Return the parts that must be sent in a message, None if there are none."""
        message = {}
        for key, name, part in self._parts:
            if (part_message := part.write(value[key])) is not None:
                message[name] = part_message
        return message or None

    def read(self, message: Any) -> Any:
        messages = message or {}
        values = {key: part.read(messages.get(name)) for key, name, part in self._parts}
        return values if self._named else tuple(values.values())


Part = Any
"""An `ArrayPart`, a `MessagePart` or a `ContainerPart`."""


def _part(space: Description, memory: mmap.mmap, start: int) -> Part:
    if space["type"] in _CONTAINERS:
        return ContainerPart(space, memory, start)
    return ArrayPart(space, memory, start) if is_numeric(space.get("dtype")) else MessagePart()


def _size(space: Description) -> int:
    """Return the number of bytes that a space takes up in a region."""
    if space["type"] in _CONTAINERS:
        return sum(_size(inner) for _, inner in _items(space))
    if not is_numeric(space.get("dtype")):
        return 0
    return aligned(math.prod(space["shape"]) * import_module("numpy").dtype(space["dtype"]).itemsize)


def _masks(actions: Description) -> Description:
    """Return the space of the masks of discrete actions; one without elements for other actions."""
    count = actions["n"] if actions["type"] == "Discrete" else 0
    return {"type": "MultiBinary", "shape": [count], "dtype": "int8"}


def _items(space: Description) -> list[tuple[Any, Description]]:
    inner = space["spaces"]
    return list(inner.items() if isinstance(inner, Mapping) else enumerate(inner))


_HEAD = aligned(_OUTCOME.size + _STATUS.size)
