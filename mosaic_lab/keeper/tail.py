"""The last messages of a telemetry file and the last lines of a log, from a bounded part at its end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard

from mosaic_lab.keeper.events import CHECKPOINT_SAVED, EPISODE, HEARTBEAT, METRICS, RUN_COMPLETED, TERMINAL
from mosaic_lab.keeper.files import open_file
from mosaic_lab.sanitize import sanitize, sanitize_json

_WINDOW = (1 << 20) + (1 << 16)  # the longest line the protocol allows, and room for what may follow it


def final_message(path: Path) -> dict[str, Any] | None:
    """Return the last run_completed, run_failed or run_cancelled message near the file's end; None without.

    Its texts are sanitized.
    """
    for message in _from_end(path, TERMINAL):
        try:
            return dict(sanitize_json(message))
        except RecursionError:
            continue
    return None


def progress(path: Path) -> Mapping[str, int]:
    """Return the newest ``step`` and ``episode`` reported near the end of the file."""
    found: dict[str, int] = {}
    for message in _from_end(path, (HEARTBEAT, METRICS, CHECKPOINT_SAVED, RUN_COMPLETED), 1 << 16):
        payload = _payload(message)
        for name, key in (("step", "step"), ("episode", "episode"), ("episode", "episodes")):
            value = payload.get(key)
            if name not in found and is_count(value):
                found[name] = int(value)
        if len(found) == 2:
            break
    return found


def recent_returns(path: Path, count: int = 20) -> list[float]:
    """Return the returns of the last ``count`` episodes near the end of the file, newest first."""
    totals = (message.get("total_reward") for message in _from_end(path, (EPISODE,), 1 << 18))
    numbers = (float(total) for total in totals if isinstance(total, int | float) and abs(total) < 1e300)
    return list(islice(numbers, count))


def saved_at(path: Path) -> int | None:
    """Return the step of the newest checkpoint reported near the end of the file and still there."""
    for message in _from_end(path, (CHECKPOINT_SAVED,)):
        payload = _payload(message)
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


def _from_end(path: Path, kinds: Sequence[str], window: int = _WINDOW) -> Iterator[dict[str, Any]]:
    """Yield the messages of these kinds in the last ``window`` bytes of a file, newest first."""
    marks = [f'"{kind}"'.encode() for kind in kinds]
    for line in reversed(_end(path, window).split(b"\n")):
        if not any(mark in line for mark in marks):
            continue
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict) and (message.get("event") in kinds or message.get("type") in kinds):
            yield message


def _payload(message: Mapping[str, Any]) -> Mapping[str, Any]:
    payload = message.get("payload")
    return payload if isinstance(payload, dict) else {}
