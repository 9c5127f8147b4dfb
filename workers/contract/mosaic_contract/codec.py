"""Messages to bytes and back: one JSON object a line, UTF-8, never longer than a limit.

NaN and the infinities are not JSON. They are written as the strings "NaN", "Infinity" and "-Infinity";
`as_number` turns those back. A reader also accepts the bare tokens that Python's `json` writes.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from pathlib import Path
from typing import Any, Iterator, Mapping

from mosaic_contract.errors import BadLine, LineTooLong

DEFAULT_LINE_LIMIT = 1 << 20
"""Longest line in bytes, newline not counted."""

OPERATING_LINE_LIMIT = 64 << 20
"""The same between arenas, operators and the kernel: observations travel in lines."""

DOCUMENT_LIMIT = 16 << 20
"""The largest file that is read as one JSON object, in bytes."""

_SEAL_BYTES = len(b',"checksum":"01234567"}')

_TUPLE = "__tuple__"

_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode_line(message: Mapping[str, Any], limit: int = DEFAULT_LINE_LIMIT) -> bytes:
    """Return one message as one line, newline included.

    Arrays and scalars of numeric libraries (whatever has `tolist`) and paths are converted. Raises
    `LineTooLong`, or `TypeError` for a value that JSON cannot hold.
    """
    try:
        text = _dump(message)
    except ValueError:  # NaN or an infinity somewhere: rare, so the copy is made only then
        text = _dump(finite(message))
    line = text.encode("utf-8", "replace")  # a lone surrogate must not cost the line
    if len(line) > limit:
        raise LineTooLong(f"a message of {len(line)} bytes does not fit in a line of {limit}")
    return line + b"\n"


def seal(line: bytes) -> bytes:
    """Return an encoded message with one more member at its end: the CRC-32 of the bytes before that."""
    body = line[:-2]  # without "}" and the newline
    return body + b',"checksum":"%08x"}\n' % zlib.crc32(body)


def is_sealed(line: bytes) -> bool:
    """Whether a line, with or without its newline, is what `seal` returned, to the last bit."""
    text = line.rstrip(b"\n")
    return seal(text[:-_SEAL_BYTES] + b"}\n") == text + b"\n"


def decode_line(line: bytes) -> dict[str, Any]:
    """Return the JSON object in one line. Raises `BadLine`."""
    try:
        value = _parse(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadLine("not UTF-8") from None
    except (ValueError, RecursionError):
        raise BadLine("not JSON") from None
    if not isinstance(value, dict):
        raise BadLine("not a JSON object")
    return value


def read_document(path: Path) -> dict[str, Any]:
    """Return the JSON object in an untrusted file. Raises `OSError`, and `ValueError` for anything that is
    not a JSON object or is larger than `DOCUMENT_LIMIT`.
    """
    if path.exists() and not path.is_file():  # opening a named pipe would wait for a writer
        raise ValueError("it is not a file")
    with path.open("rb") as file:
        data = file.read(DOCUMENT_LIMIT + 1)
    if len(data) > DOCUMENT_LIMIT:
        raise ValueError(f"it is larger than {DOCUMENT_LIMIT >> 20} MiB")
    return decode_line(data)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically and flush it to the disk. Raises `OSError`."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def as_number(value: Any) -> float:
    """Return a number from a message as a float; accepts the strings for NaN and infinity. Raises
    `ValueError`.
    """
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise ValueError(f"not a number: {value!r:.100}")


def whole_number(value: Any) -> int | None:
    """Return a whole number that is written as an int, a float or an array without dimensions; None for any
    other value.
    """
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if type(value) is int:
        return value
    return int(value) if type(value) is float and value.is_integer() else None


def flat_numbers(value: Any) -> Iterator[float]:
    """Yield the numbers in nested lists from a message, in C order, as `as_number` returns them."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from flat_numbers(part)
    else:
        yield as_number(value)


class LineSplitter:
    """Splits a byte stream into lines, buffering at most one line of `limit` bytes.

    `.oversize` counts the lines that were dropped because they are longer. A last line without its newline is
    kept until the newline comes. Empty lines carry nothing and are skipped.
    """

    def __init__(self, limit: int = DEFAULT_LINE_LIMIT) -> None:
        self.limit = limit
        self.oversize = 0
        self._tail = bytearray()
        self._dropping = False

    @property
    def pending(self) -> int:
        """Buffered bytes of the unfinished last line."""
        return len(self._tail)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes, without their newlines."""
        if not self._tail and not self._dropping and data.find(b"\n") == len(data) - 1 <= self.limit:
            return [data[:-1]] if len(data) > 1 else []  # one whole line, as nearly always
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and self._dropping:
            lines.pop(0)  # the end of a line that was counted when it passed the limit
            self._dropping = False
        elif lines:
            lines[0] = bytes(self._tail) + lines[0]
            self._tail.clear()
        complete = [line for line in lines if len(line) <= self.limit]
        self.oversize += len(lines) - len(complete)
        self._keep(rest)
        return [line for line in complete if line]

    def _keep(self, rest: bytes) -> None:
        if self._dropping:
            return
        self._tail += rest
        if len(self._tail) > self.limit:
            self._tail.clear()
            self._dropping = True
            self.oversize += 1


def _convert(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON: {value!r:.100}")


_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def _parse(text: str) -> Any:
    """Decode as `json.loads` does, in half the time for a small message."""
    try:
        value, end = _scan(text, 0)
    except StopIteration:  # white space at the start, or not JSON
        return json.loads(text)
    return value if end == len(text) else json.loads(text)


_encoder = json.JSONEncoder(default=_convert, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
_make = getattr(json.encoder, "c_make_encoder", None)  # CPython's
_chunks = _make and _make(
    *(None, _convert, json.encoder.encode_basestring, None, ":", ",", False, False, False)
)


def _dump(value: Any) -> str:
    """Encode as `_encoder` does, with the parts that it would make again for every message made once."""
    return "".join(_chunks(value, 0)) if _chunks else _encoder.encode(value)


def with_tagged_tuples(value: Any) -> Any:
    """Return a value with each tuple in it as `{"__tuple__": [...]}`, since JSON has lists only."""
    if isinstance(value, Mapping):
        return {key: with_tagged_tuples(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [with_tagged_tuples(item) for item in value]
        return {_TUPLE: items} if isinstance(value, tuple) else items
    return value


def with_tuples(value: Any) -> Any:
    """Return the value that `with_tagged_tuples` was given."""
    if isinstance(value, Mapping):
        if set(value) == {_TUPLE} and isinstance(value[_TUPLE], list):
            return tuple(map(with_tuples, value[_TUPLE]))
        return {key: with_tuples(item) for key, item in value.items()}
    return list(map(with_tuples, value)) if isinstance(value, list) else value


def finite(value: Any) -> Any:
    """Return a value with strings for NaN and the infinities, in its lists and dicts too."""
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return value
    if isinstance(value, Mapping):
        return {finite(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if value is None or isinstance(value, (str, int)):
        return value
    return finite(_convert(value))
