"""Recordings in bundles: the selection of files for writing, and validation after unpacking.

Nothing in a recording is executed; its text is displayed and parsed, its images are shown in browsers.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_contract import BadLine, decode_line
from mosaic_contract.codec import is_sealed
from mosaic_contract.language.exchange import hash_of
from mosaic_contract.language.recording import LINE_LIMIT

from mosaic_lab.arenas.plan import EXCHANGES

LAYOUT = rf"{EXCHANGES}/[^/]+\.jsonl|{EXCHANGES}/images/[0-9a-f]{{64}}\.png"
"""Regular expression for the names of the members of a bundle that belong to a recording."""

_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_MAX_IMAGE = 16 << 20  # bytes
_MAX_PIXELS = 1 << 24
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ROLES = ("system", "user", "assistant")
_LONGEST_NAME = 200  # characters, such as of a model's name
_MAX_FAULTS = 20


def recording_files(folder: Path) -> dict[str, bytes | Path]:
    """Return the files of the recording in ``folder`` by their names in a bundle. Truncated lines, and images
    to which no line refers, are left out."""
    files: dict[str, bytes | Path] = {}
    images: set[str] = set()
    for path in sorted(folder.glob("*.jsonl")):
        lines = list(_lines(path))
        intact = [line for line in lines if is_sealed(line) and line.endswith(b"\n")]
        files[f"{EXCHANGES}/{path.name}"] = path if len(intact) == len(lines) else b"".join(intact)
        for line in intact:
            images |= {name for turn in decode_line(line)["prompt"] for name in turn["images"]}
    return files | {f"{EXCHANGES}/images/{name}.png": folder / "images" / f"{name}.png" for name in images}


class Problem(NamedTuple):
    """A problem with a member of a bundle, as the end of a sentence about it."""

    member: str
    why: str


def check_recording(folder: Path, lanes: Collection[str]) -> Problem | None:
    """Return the first problem with an unpacked recording, None if it is valid; ``lanes`` are the valid
    operator names."""
    images = {path.stem: path for path in sorted((folder / "images").glob("*.png"))}
    for name, path in images.items():
        if why := _wrong_image(name, path):
            return Problem(f"{EXCHANGES}/images/{path.name}", why)
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(_lines(path), 1):
            if why := _wrong_line(line, lanes, images):
                return Problem(f"{EXCHANGES}/{path.name}", f"in line {number:,}: {why}")
    return None


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, splitting lines beyond the length limit."""
    with path.open("rb") as file:
        yield from iter(lambda: file.readline(LINE_LIMIT + 1), b"")


def _wrong_line(line: bytes, lanes: Collection[str], images: Collection[str]) -> str:
    if len(line) > LINE_LIMIT or not line.endswith(b"\n"):
        return f"it is cut off, or longer than {LINE_LIMIT >> 20} MiB"
    if not is_sealed(line):
        return "the checksum does not match"
    try:
        return next(_problems(decode_line(line), lanes, images), "")
    except (BadLine, KeyError, TypeError, AttributeError, ValueError) as error:
        return f"it cannot be read: {error!r:.200}"


def _problems(entry: Mapping[str, Any], lanes: Collection[str], images: Collection[str]) -> Iterator[str]:
    """Yield an exchange's problems as sentences. Raises KeyError, TypeError and similar errors for malformed
    data."""
    for name, (is_valid, expected) in _FIELDS.items():
        required = entry[name] is not None or name not in _OPTIONAL
        if required and not is_valid(entry[name]):
            yield f"{name}={entry[name]!r:.100} is not {expected}"
    if entry["lane"] not in lanes:
        yield f"there is no operator {entry['lane']!r:.100}"
    if not _is_amount(entry["started"]) or type(entry["recorded"]) is not bool:
        yield "it does not say when it was recorded"
    yield from _wrong_texts(entry, images)


def _wrong_texts(entry: Mapping[str, Any], images: Collection[str]) -> Iterator[str]:
    prompt, faults = entry["prompt"], entry["faults"]
    for turn in prompt:
        if set(turn) != {"role", "text", "images"} or turn["role"] not in _ROLES:
            yield "a turn of its prompt is not a valid turn of a dialog"
        if not isinstance(turn["text"], str) or not isinstance(turn["images"], list):
            yield "a turn of its prompt has no text"
        for image in turn["images"]:
            if not _SHA256.fullmatch(image):
                yield f"{image!r:.100} is not the name of an image"
            if image not in images:
                yield f"its image {image} is missing"
    if entry["prompt_sha256"] != hash_of(prompt):
        yield "its prompt does not match its SHA-256"
    if not isinstance(entry["answer"], str) or not isinstance(entry["reasoning"], str):
        yield "its answer is not a string"
    if entry["parsed"] is not None and not isinstance(entry["parsed"], str):
        yield "its parsed answer is not a string"
    if not isinstance(faults, list) or len(faults) > _MAX_FAULTS:
        yield f"it has more than {_MAX_FAULTS} faults"
    if not all(isinstance(fault, str) and re.fullmatch(r"[a-z_]{1,40}", fault) for fault in faults):
        yield "one of its faults has no valid name"


def _wrong_image(name: str, path: Path) -> str:
    """Return an image's problem, without decoding its pixels; empty if there is none."""
    size = path.stat().st_size
    if size > _MAX_IMAGE:
        return f"has {size:,} bytes, {_MAX_IMAGE:,} at most"
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != name:
        return "does not match its name"
    if not content.startswith(_PNG) or len(content) < len(_PNG) + 8:
        return "is not a PNG image"
    width, height = struct.unpack_from(">II", content, len(_PNG))
    if not 0 < width * height <= _MAX_PIXELS:
        return f"has {width:,} × {height:,} pixels, {_MAX_PIXELS:,} at most"
    return ""


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 53


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_NAME and value.isprintable()


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("lane", "operator", "agent", "provider", "model"), (_is_name, "a name")),
    **dict.fromkeys(("episode_index", "step_index", "call", "retries"), (_is_count, "a count")),
    **dict.fromkeys(("input_tokens", "output_tokens"), (_is_count, "a count")),
    "seed": (lambda value: type(value) is int, "a seed"),
    **dict.fromkeys(("cost_usd", "latency_ms"), (_is_amount, "an amount")),
}
"""By field of an exchange: the check of its value, and a description of valid values."""
_OPTIONAL = ("input_tokens", "output_tokens", "seed", "cost_usd", "latency_ms")
