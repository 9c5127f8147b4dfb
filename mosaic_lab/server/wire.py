"""The protocol between the server and its reader: requests as lines of JSON, answers as frames.

A request is ``{"id", "method", "store", "params", "wait"}`` or ``{"cancel": id}``. An answer is a header
(request number, kind, length) and its payload, which the server passes to the page unchanged. The payload is
JSON, ``{"result": …}``, or with binary parts: the length of the JSON as an unsigned 32-bit number
(little-endian), the JSON, ``{"result": …, "buffers": [lengths in bytes]}``, and the parts.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import msgspec

HEADER = struct.Struct("<IBI")
_LENGTH = struct.Struct("<I")


class PayloadKind(IntEnum):
    """The kind of a payload."""

    JSON = 0
    BINARY = 1
    REFUSED = 2
    """A sentence for the user with the reason for a refusal."""
    FAILED = 3
    """The type and message of an error in the reader."""


def payload(result: dict[str, Any], buffers: Sequence[bytes]) -> tuple[PayloadKind, list[bytes]]:
    """Return an answer's kind, and its payload in parts."""
    if not buffers:
        return PayloadKind.JSON, [msgspec.json.encode({"result": result})]
    text = msgspec.json.encode({"result": result, "buffers": [len(part) for part in buffers]})
    return PayloadKind.BINARY, [_LENGTH.pack(len(text)), text, *buffers]


def frame(number: int, kind: PayloadKind, parts: Sequence[bytes]) -> bytes:
    """Return the frame of an answer."""
    return b"".join([HEADER.pack(number, kind, sum(map(len, parts))), *parts])
