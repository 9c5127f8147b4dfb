"""The hash of an observation, by which a replayed episode is compared with the recorded one."""

from __future__ import annotations

import zlib
from typing import Any, Mapping

_PLAIN = (int, float, bool, type(None))


def observation_hash(observation: Any) -> int | None:
    """Return the CRC-32 of an observation's bytes, including arrays and strings inside dicts and lists.

    It is equal in every process that makes the same observation with the same library. None if the
    observation contains an object whose bytes are undefined.
    """
    try:
        return _hashed(observation, 0)
    except (TypeError, ValueError, RecursionError):
        return None


def _hashed(value: Any, crc: int) -> int:
    dtype = getattr(value, "dtype", None)
    if dtype is not None and not getattr(dtype, "hasobject", False):
        try:
            return zlib.crc32(value, crc)
        except (TypeError, ValueError, BufferError):  # not contiguous, or an array of another library
            return zlib.crc32(value.tobytes(), crc)
    if isinstance(value, str):
        return zlib.crc32(value.encode("utf-8", "surrogatepass"), crc)
    if type(value) in _PLAIN:
        return zlib.crc32(repr(value).encode(), crc)
    if isinstance(value, Mapping):
        for key, item in value.items():
            crc = _hashed(item, _hashed(str(key), crc))
        return crc
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        for item in value:
            crc = _hashed(item, crc)
        return crc
    raise TypeError(f"a {type(value).__name__} has no bytes")
