"""Decoding of telemetry lines into typed records.

Nothing here raises for what a worker wrote: a line that is of no use to a reader is counted in the
:class:`Health` passed along.

The fast path decodes straight into the record's types. Lines that it refuses (bare ``NaN`` tokens, values
that are not numbers) are decoded again by the contract's own codec, which is slower and more forgiving.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import msgspec
from mosaic_contract.codec import decode_line
from mosaic_contract.errors import BadLine

EVENTS = frozenset(
    {
        "run_started",
        "heartbeat",
        "checkpoint_saved",
        "checkpoint_loaded",
        "metrics",
        "run_completed",
        "run_failed",
        "run_cancelled",
    }
)
DATA_TYPES = frozenset({"step", "episode"})

# The three strings stand for floats that JSON has no token for; numpy turns them back.
Number = float | Literal["NaN", "Infinity", "-Infinity"]
# The largest range in which a float64 holds every integer: steps become chart coordinates.
Count = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
# Unix seconds up to about the year 5000: a garbage timestamp must not stretch a time axis to infinity.
Timestamp = Annotated[float, msgspec.Meta(ge=0, le=1e11)]


@dataclass
class Health:
    """Counts of what a reader met in one stream; all zero but ``lines`` in a healthy one."""

    lines: int = 0
    """Complete lines read, good or bad, without the oversize ones."""
    malformed: int = 0
    """Lines that are not JSON objects of the protocol's shape."""
    oversize: int = 0
    """Lines longer than the limit, skipped without being held."""
    invalid_utf8: int = 0
    """Lines that are not UTF-8."""
    unknown: int = 0
    """Well-formed lines of an event or type that this version does not know."""
    dropped_values: int = 0
    """Metric values left out: not a number, or of a name beyond the bound on names."""
    replaced: int = 0
    """Times the file was replaced or cut short, so that reading started again."""
    dropped_by_worker: int = 0
    """Lines the worker says it could not write (a full disk, say)."""

    def counts(self) -> dict[str, int]:
        """All counts by name."""
        return asdict(self)


class Payload(msgspec.Struct, gc=False):
    """The part of a payload that a reader of metrics needs; every other field is skipped undecoded."""

    step: Count | None = None
    values: dict[str, Number] | None = None


class Record(msgspec.Struct, gc=False):
    """One line: an event (``event`` is set) or a datum (``type`` is set)."""

    event: str = ""
    type: str = ""
    timestamp: Timestamp | None = None
    payload: Payload | None = None
    episode_index: Count | None = None
    agent_id: str | int | None = None
    total_reward: Number | None = None
    steps: Count | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    episode_seed: Count | None = None
    duration_seconds: Number | None = None
    step: Count | None = None


_decode = msgspec.json.Decoder(Record).decode


def parse(line: bytes, health: Health) -> Record | None:
    """Return the record in ``line``, or ``None`` after ``health`` has counted why there is none."""
    try:
        record = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        lenient = _parse_leniently(line, health)
        if lenient is None:
            health.malformed += 1
            return None
        record = lenient
    if record.event == "metrics":
        if record.payload is None or record.payload.values is None:
            health.malformed += 1
            return None
    elif record.event not in EVENTS and record.type not in DATA_TYPES:
        health.unknown += 1
        return None
    return record


def _parse_leniently(line: bytes, health: Health) -> Record | None:
    try:
        message = decode_line(line)
        payload = message.get("payload")
        if isinstance(payload, dict) and isinstance(payload.get("values"), dict):
            message = {**message, "payload": {**payload, "values": _numbers(payload["values"], health)}}
        return msgspec.convert(message, Record)
    except (BadLine, msgspec.ValidationError, RecursionError):
        return None


def _numbers(values: dict[str, Any], health: Health) -> dict[str, Any]:
    kept = {}
    for name, value in values.items():
        try:
            kept[name] = msgspec.convert(value, Number)
        except msgspec.ValidationError:
            health.dropped_values += 1
    return kept
