"""The last messages in a telemetry file. Never reads more than a bounded part of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from mosaic_lab.keeper.files import open_file
from mosaic_lab.sanitize import sanitize, sanitize_json

_WINDOW = (1 << 20) + (1 << 16)  # the longest line the protocol allows, and room for what may follow it
_PROGRESS_EVENTS = (b'"heartbeat"', b'"metrics"', b'"checkpoint_saved"', b'"run_completed"')
_TERMINAL = (b'"run_completed"', b'"run_failed"', b'"run_cancelled"')


def last_words(path: Path) -> dict[str, Any] | None:
    """Return the last run_completed, run_failed or run_cancelled message near the file's end; None without.

    Its texts are sanitized.
    """
    for line in _lines_from_end(path):
        if not any(word in line for word in _TERMINAL):
            continue
        message = _parsed(line)
        if message is not None and f'"{message.get("event")}"'.encode() in _TERMINAL:
            try:
                return dict(sanitize_json(message))
            except RecursionError:
                continue
    return None


def progress(path: Path) -> Mapping[str, int]:
    """Return the newest ``step`` and ``episode`` reported near the end of the file."""
    found: dict[str, int] = {}
    for line in _lines_from_end(path, 1 << 16):
        if not any(event in line for event in _PROGRESS_EVENTS):
            continue
        payload = (_parsed(line) or {}).get("payload")
        if not isinstance(payload, dict):
            continue
        for name, key in (("step", "step"), ("episode", "episode"), ("episode", "episodes")):
            value = payload.get(key)
            if name not in found and is_count(value):
                found[name] = int(value)
        if "step" in found and "episode" in found:
            break
    return found


def recent_returns(path: Path, count: int = 20) -> list[float]:
    """The returns of the last ``count`` episodes near the end of the file, newest first."""
    found: list[float] = []
    for line in _lines_from_end(path, 1 << 18):
        if b'"episode"' not in line:
            continue
        message = _parsed(line) or {}
        total = message.get("total_reward")
        if message.get("type") == "episode" and isinstance(total, int | float) and abs(total) < 1e300:
            found.append(float(total))
            if len(found) == count:
                break
    return found


def saved_at(path: Path) -> int | None:
    """The step of the newest checkpoint reported near the end of the file and still there."""
    for line in _lines_from_end(path):
        if b'"checkpoint_saved"' not in line:
            continue
        payload = (_parsed(line) or {}).get("payload")
        if not isinstance(payload, dict):
            continue
        name, step = payload.get("checkpoint_path"), payload.get("step")
        if isinstance(name, str) and name and is_count(step) and is_there(path.parent / name):
            return int(step)
    return None


def last_lines(path: Path, count: int, window: int = 1 << 16) -> list[str]:
    """The last ``count`` lines of a text file within its last ``window`` bytes; a missing file has none.

    Of a line that a progress bar rewrote with carriage returns only the last form is kept, and of colours and
    other control sequences the text.
    """
    lines = _end(path, window).decode("utf-8", "replace").rstrip("\n").split("\n")
    return (
        [sanitize(line.rstrip("\r").rpartition("\r")[2]) for line in lines[-count:]] if lines != [""] else []
    )


def is_there(path: Path) -> bool:
    """Return whether the path exists; one that cannot exist (a worker may send any text) does not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_count(value: object) -> TypeGuard[float]:
    """Whether a worker's value is a number that can count something: not NaN, not negative, not beyond
    reason."""
    return isinstance(value, int | float) and 0 <= value <= 2**53


def _end(path: Path, window: int) -> bytes:
    try:
        with open_file(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - window))
            return file.read(window)
    except OSError:
        return b""


def _lines_from_end(path: Path, window: int = _WINDOW) -> Iterator[bytes]:
    return reversed(_end(path, window).split(b"\n"))


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
