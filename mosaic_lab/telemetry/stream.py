"""Read the lines that a process is still writing, and decode those of telemetry.

`JsonlFollower` reads any growing file of lines. `parse` and `parse_text` decode lines into typed messages
with the fields in use, `decode_message` into all fields. None of these raises for content written by a
worker. A line is decoded directly into the fields' types. If that fails (bare ``NaN`` tokens, values that are
not numbers), it is decoded again by the contract's codec, which is slower and more lenient.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, get_type_hints

import msgspec
import numpy as np
from mosaic_contract.codec import DEFAULT_LINE_LIMIT, LineSplitter, decode_line
from mosaic_contract.errors import BadLine
from mosaic_contract.messages import DATA, EVENTS
from mosaic_contract.telemetry import flat

from mosaic_lab.keeper.events import METRICS
from mosaic_lab.keeper.files import open_file
from mosaic_lab.sanitize import well_formed

TEXT_BYTES = 120_000
"""Bytes read per text. For larger ones the allocator requests pages that the system must clear each time, and
their decoded messages exceed the processor's cache."""


class JsonlFollower:
    """Reads a growing file of lines a bounded number of bytes at a time.

    The file may not exist yet, or be deleted, truncated or replaced: reading continues, and ``health`` and
    ``missing`` report it. ``line_limit`` is the maximum length of a line in bytes; longer lines are counted
    in ``health.oversize`` and never kept in memory. An incomplete last line is returned once its newline
    arrives.
    """

    def __init__(self, path: Path | str, line_limit: int = DEFAULT_LINE_LIMIT) -> None:
        self.path = Path(path)
        self.offset = 0
        """Number of bytes read so far."""
        self.health = Health()
        self.missing = False
        """Whether the file has been deleted."""
        self.behind = False
        """Whether the last poll left bytes unread."""
        self._line_limit = line_limit
        self._splitter = LineSplitter(line_limit)
        self._oversize_before = 0
        self._file: BinaryIO | None = None
        self._identity: tuple[int, int] | None = None

    @property
    def inode(self) -> int | None:
        """The inode of the file that was read; None before the first."""
        return self._identity[1] if self._identity else None

    def poll(self, max_bytes: int = TEXT_BYTES) -> list[bytes]:
        """Return complete lines from at most the next ``max_bytes`` bytes; empty if there is nothing new.

        Raises OSError if the file exists but cannot be read.
        """
        return [line for line in self.poll_text(max_bytes).split(b"\n") if line]

    def poll_text(self, max_bytes: int = TEXT_BYTES) -> bytes:
        """Return the same lines with their newlines, as one text, which may also have empty lines."""
        try:
            status: os.stat_result | None = os.stat(self.path)  # noqa: PTH116 - called very often
        except (FileNotFoundError, NotADirectoryError):
            status = None
        identity = (status.st_dev, status.st_ino) if status else None
        if self._file is not None and identity != self._identity:
            # Read the rest of the old file before closing it.
            if self.offset < os.fstat(self._file.fileno()).st_size:
                return self._read(max_bytes)
            self.close()
            self.missing = status is None
        if status is None:
            return b""
        if self._file is None:
            self.missing = False
            if identity != self._identity or status.st_size != self.offset:  # else nothing is new
                self._open(status)
        elif status.st_size < self.offset:
            self._restart()
        if status.st_size == self.offset:
            self.behind = False
            return b""
        return self._read(max_bytes)

    def poll_texts(self, max_bytes: int) -> Iterator[bytes]:
        """Yield the lines of at most the next ``max_bytes`` bytes, as one string per `TEXT_BYTES`. If the
        file was replaced or truncated, the first string starts the new one. Raises OSError as `poll` does."""
        yield self.poll_text(min(max_bytes, TEXT_BYTES))
        for done in range(TEXT_BYTES, max_bytes, TEXT_BYTES):
            if self._file is None or not self.behind:
                return
            try:
                yield self._read(min(max_bytes - done, TEXT_BYTES))
            except OSError:  # the next poll raises it, so that the texts before are not lost
                return

    def lines(self) -> Iterator[bytes]:
        """Return the lines up to the current end of the file, then close it. Raises OSError as `poll`
        does."""
        return (line for text in self.texts() for line in text.split(b"\n") if line)

    def texts(self) -> Iterator[bytes]:
        """Return the same lines in texts, one for each `poll_text`."""
        while True:
            yield self.poll_text()
            if not self.behind:
                return self.close()

    def close(self) -> None:
        """Close the file. A later poll opens it again at the current offset."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self, status: os.stat_result) -> None:
        self._file = open_file(self.path, buffering=0)
        opened = os.fstat(self._file.fileno())
        identity = (opened.st_dev, opened.st_ino)
        if (self._identity is not None and identity != self._identity) or status.st_size < self.offset:
            self._restart()
        self._identity = identity

    def _restart(self) -> None:
        self.offset = 0
        self._splitter = LineSplitter(self._line_limit)
        self._oversize_before = self.health.oversize
        self.health.replaced += 1

    def _read(self, max_bytes: int) -> bytes:
        assert self._file is not None
        data = os.pread(self._file.fileno(), max_bytes, self.offset)
        self.offset += len(data)
        self.behind = self.offset < os.fstat(self._file.fileno()).st_size
        text = self._splitter.text(data)
        self.health.oversize = self._oversize_before + self._splitter.oversize
        self.health.lines += line_count(text)
        return text if text.isascii() else self._valid(text)

    def _valid(self, text: bytes) -> bytes:
        """Return the lines that are UTF-8."""
        try:
            text.decode()
        except UnicodeDecodeError:
            lines = text.split(b"\n")
            valid = [line for line in lines if line.decode(errors="ignore").encode() == line]
            self.health.invalid_utf8 += len(lines) - len(valid)
            return b"\n".join(valid)
        return text


# The three strings represent floats without a JSON token; NumPy parses them.
Number = float | Literal["NaN", "Infinity", "-Infinity"]
# The largest range in which float64 represents every integer, because steps become chart coordinates.
Count = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
# Unix seconds up to about the year 5000: an invalid timestamp must not stretch a time axis indefinitely.
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e11)]


@dataclass
class Health:
    """Counts of irregularities in one stream. All except ``lines`` are zero for a healthy stream."""

    lines: int = 0
    """Complete lines read, valid or not, without oversize lines."""
    malformed: int = 0
    """Lines that are not JSON objects in the protocol's format."""
    oversize: int = 0
    """Lines longer than the limit, skipped without being kept in memory."""
    invalid_utf8: int = 0
    """Lines that are not valid UTF-8."""
    unknown: int = 0
    """Well-formed lines with an event or type unknown to this version."""
    dropped_values: int = 0
    """Values dropped because they are not numbers, their name exceeds the limits, or a payload's field has a
    wrong type."""
    replaced: int = 0
    """Times the file was replaced or truncated, which restarts reading."""
    dropped_by_worker: int = 0
    """Lines that the worker reports it could not write, for example because of a full disk."""
    missed_by_keeper: int = 0
    """System measurements that the run's keeper could not take or write."""

    def counts(self) -> dict[str, int]:
        """Return all counts by name."""
        return asdict(self)


class Payload(msgspec.Struct, gc=False):
    """The fields of an event's payload that are used; all others are skipped without decoding."""

    step: Count | None = None
    values: dict[str, Number] | None = None
    episode: Count = 0
    memory_mb: Amount | None = None
    dropped_lines: Count = 0
    missed: Count = 0
    checkpoint_path: str = ""
    metrics: dict[str, Any] | None = None
    format: str = ""


class Message(msgspec.Struct, gc=False):
    """A line: an event (``event`` is set) or a datum (``type`` is set)."""

    event: str = ""
    timestamp: Amount | None = None
    payload: Payload | None = None
    type: str = ""
    episode_index: Count | None = None
    total_reward: Number | None = None
    steps: Count | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    episode_seed: Count | None = None
    agent_id: str | int | None = None
    duration_seconds: Number | None = None
    step: Count | None = None


_decoder = msgspec.json.Decoder(Message)
_decode_whole = msgspec.json.Decoder(dict[str, Any]).decode
_PAYLOAD_TYPES = get_type_hints(Payload, include_extras=True)


def parse_text(text: bytes, health: Health) -> list[Message]:
    """Return the messages in lines, as `parse` does. If all lines are valid, this takes half the time."""
    try:
        messages = _decoder.decode_lines(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        messages = []
    if len(messages) != line_count(text):
        lines = filter(None, text.split(b"\n"))
        return [message for line in lines if (message := parse(line, health)) is not None]
    return [
        message
        for message in messages
        if (
            message.event == METRICS
            and (payload := message.payload) is not None
            and payload.values is not None
            and not payload.missed
        )
        or _is_known(message, health)
    ]


def line_count(text: bytes) -> int:
    """Return the number of newlines, several times as fast as ``text.count``."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def parse(line: bytes, health: Health) -> Message | None:
    """Return the message in ``line``, or None after counting the problem in ``health``."""
    try:
        message = _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            message = _salvage(line, health)
        except (BadLine, msgspec.ValidationError, RecursionError):
            health.malformed += 1
            return None
    return message if _is_known(message, health) else None


def decode_message(line: bytes, kind: str) -> dict[str, Any] | None:
    """Return the object in ``line`` with all fields, or None if it is not a message of this kind."""
    if f'"{kind}"'.encode() not in line:
        return None
    try:
        message = _decode_whole(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            message = well_formed(decode_line(line))
        except BadLine:
            return None
    return message if kind in (message.get("event"), message.get("type")) else None


def _is_known(message: Message, health: Health) -> bool:
    """Return whether this version reads such messages, after counting in ``health`` the problem if not, and
    the losses that the message reports."""
    if (payload := message.payload) is not None:
        health.dropped_by_worker = max(health.dropped_by_worker, payload.dropped_lines)
        health.missed_by_keeper = max(health.missed_by_keeper, payload.missed)
    if message.event == METRICS:
        if message.payload is None or message.payload.values is None:
            health.malformed += 1
            return False
    elif message.event not in EVENTS and message.type not in DATA:
        health.unknown += 1
        return False
    return True


def _salvage(line: bytes, health: Health) -> Message:
    """Decode a line, flattening its metric values and dropping values and payload fields of wrong types."""
    message = well_formed(decode_line(line))
    payload = message.get("payload")
    if isinstance(payload, dict):
        values = payload.get("values")
        if message.get("event") != METRICS:
            message["payload"] = _converted(payload, _PAYLOAD_TYPES, health)
        elif isinstance(values, dict):
            numbers = dict(flat(values))
            payload["values"] = _converted(numbers, dict.fromkeys(numbers, Number), health)
    return msgspec.convert(message, Message)


def _converted(fields: dict[str, Any], field_types: Mapping[str, Any], health: Health) -> dict[str, Any]:
    valid = {}
    for name in filter(field_types.__contains__, fields):
        try:
            valid[name] = msgspec.convert(fields[name], field_types[name])
        except msgspec.ValidationError:
            health.dropped_values += 1
    return valid
