"""Encoding of messages: one JSON object per line, in UTF-8, with a limited length.

JSON has neither NaN nor infinities. They are written as the strings "NaN", "Infinity" and "-Infinity", which
`as_number` converts back. Readers also accept the bare tokens that Python's `json` writes.
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
"""Maximum length of a line in bytes, without the newline."""

OPERATING_LINE_LIMIT = 64 << 20
"""The same limit between arenas, operators and the kernel, whose lines contain observations."""

DOCUMENT_LIMIT = 16 << 20
"""Maximum size in bytes of a file that is read as one JSON object."""

_SEAL_BYTES = len(b',"checksum":"01234567"}')

_TUPLE = "__tuple__"

_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode_line(message: Mapping[str, Any], limit: int = DEFAULT_LINE_LIMIT) -> bytes:
    """Return a message as one line, including the newline.

    Paths and the arrays and scalars of numeric libraries (anything with `tolist`) are converted. Raises
    `LineTooLong`, or `TypeError` for a value that JSON cannot represent.
    """
    try:
        text = _dump(message)
    except ValueError:  # NaN or an infinity: rare, so the copy is made only then
        text = _dump(finite(message))
    line = text.encode("utf-8", "replace")  # a lone surrogate must not lose the line
    if len(line) > limit:
        raise LineTooLong(f"a message of {len(line)} bytes does not fit in a line of {limit}")
    return line + b"\n"


def seal(line: bytes) -> bytes:
    """Return an encoded message with an additional last member: the CRC-32 of all bytes before it."""
    body = line[:-2]  # without "}" and the newline
    return body + b',"checksum":"%08x"}\n' % zlib.crc32(body)


def is_sealed(line: bytes) -> bool:
    """Return whether a line, with or without its newline, is an intact result of `seal`."""
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
    """Return the JSON object in an untrusted file. Raises `OSError`, and `ValueError` if the file is not a
    JSON object or is larger than `DOCUMENT_LIMIT`."""
    if path.exists() and not path.is_file():  # opening a named pipe would wait for a writer
        raise ValueError("it is not a file")
    with path.open("rb") as file:
        data = file.read(DOCUMENT_LIMIT + 1)
    if len(data) > DOCUMENT_LIMIT:
        raise ValueError(f"it is larger than {DOCUMENT_LIMIT >> 20} MiB")
    return decode_line(data)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically and flush it to disk. Raises `OSError`."""
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
    """Return a number from a message as a float. Accepts the strings for NaN and infinity. Raises
    `ValueError`."""
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise ValueError(f"not a number: {value!r:.100}")


def whole_number(value: Any) -> int | None:
    """Return a whole number given as an int, a float or a zero-dimensional array; None for any other
    value."""
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if type(value) is int:
        return value
    return int(value) if type(value) is float and value.is_integer() else None


def flat_numbers(value: Any) -> Iterator[float]:
    """Yield the numbers in nested lists from a message, in C order, converted by `as_number`."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from flat_numbers(part)
    else:
        yield as_number(value)


class LineSplitter:
    """Splitter of a byte stream into lines. It buffers at most one line of `limit` bytes.

    `.oversize` counts the lines that were dropped because they exceeded the limit. An unfinished last line is
    kept until its newline arrives. Empty lines are skipped.
    """

    def __init__(self, limit: int = DEFAULT_LINE_LIMIT) -> None:
        self.limit = limit
        self.oversize = 0
        self._tail = bytearray()
        self._dropping = False

    @property
    def pending(self) -> int:
        """Number of buffered bytes of the unfinished last line."""
        return len(self._tail)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines completed by `data`, without their newlines."""
        if not self._tail and not self._dropping and data.find(b"\n") == len(data) - 1 <= self.limit:
            return [data[:-1]] if len(data) > 1 else []  # one complete line, the usual case
        return [line for line in self.text(data).split(b"\n") if line]

    def text(self, data: bytes) -> bytes:
        """Return the same lines with their newlines, as one block, which may contain empty lines."""
        end = data.rfind(b"\n") + 1
        text = data[:end]
        if text and self._dropping:
            text = text[text.index(b"\n") + 1 :]  # without the rest of an oversized line, already counted
            self._dropping = False
        elif text and self._tail:
            text = bytes(self._tail) + text
            self._tail.clear()
        if len(data) > self.limit or text.find(b"\n") > self.limit:  # all lines but the first are in `data`
            lines = text.split(b"\n")
            accepted = [line for line in lines if len(line) <= self.limit]
            self.oversize += len(lines) - len(accepted)
            text = b"\n".join(accepted)
        self._keep_tail(data[end:])
        return text

    def _keep_tail(self, tail: bytes) -> None:
        if self._dropping:
            return
        self._tail += tail
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
    """Decode like `json.loads`, in half the time for a small message."""
    try:
        value, end = _scan(text, 0)
    except StopIteration:  # leading white space, or not JSON
        return json.loads(text)
    return value if end == len(text) else json.loads(text)


_encoder = json.JSONEncoder(default=_convert, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
_make = getattr(json.encoder, "c_make_encoder", None)  # CPython only
_chunks = _make and _make(
    *(None, _convert, json.encoder.encode_basestring, None, ":", ",", False, False, False)
)


def _dump(value: Any) -> str:
    """Encode like `_encoder`, but build only once the parts that it would build for every message."""
    return "".join(_chunks(value, 0)) if _chunks else _encoder.encode(value)


def with_tagged_tuples(value: Any) -> Any:
    """Return a value with each tuple replaced by `{"__tuple__": [...]}`, because JSON has only lists."""
    if isinstance(value, Mapping):
        return {key: with_tagged_tuples(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [with_tagged_tuples(item) for item in value]
        return {_TUPLE: items} if isinstance(value, tuple) else items
    return value


def with_tuples(value: Any) -> Any:
    """Reverse `with_tagged_tuples`."""
    if isinstance(value, Mapping):
        if set(value) == {_TUPLE} and isinstance(value[_TUPLE], list):
            return tuple(map(with_tuples, value[_TUPLE]))
        return {key: with_tuples(item) for key, item in value.items()}
    return list(map(with_tuples, value)) if isinstance(value, list) else value


def finite(value: Any) -> Any:
    """Return a value with NaN and infinities replaced by strings, also in lists and dicts."""
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
