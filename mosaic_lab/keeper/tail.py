"""Bounded reads of the first and last messages of a telemetry file and the last lines of a log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from statistics import fmean
from typing import Any, TypeGuard

from mosaic_lab.keeper.events import CHECKPOINT_SAVED, EPISODE, HEARTBEAT, METRICS, RUN_COMPLETED, TERMINAL
from mosaic_lab.keeper.files import open_file
from mosaic_lab.sanitize import sanitize, sanitize_json

_WINDOW = (1 << 20) + (1 << 16)  # the longest line the protocol allows, plus room for following lines

_VALUES_WINDOW = 1 << 22


def final_message(path: Path) -> dict[str, Any] | None:
    """Return the last run_completed, run_failed or run_cancelled message near the end of the file, if any.
    Its strings are sanitized."""
    for message in _from_end(path, TERMINAL):
        try:
            return dict(sanitize_json(message))
        except RecursionError:
            continue
    return None


def started_config(path: Path) -> Mapping[str, Any] | None:
    """Return the configuration in the file's first message, run_started: None if there is no message yet,
    empty if the message has none."""
    try:
        with open_file(path) as file:
            line = file.readline(_WINDOW)
        message = json.loads(line) if line else None
    except (OSError, ValueError, RecursionError):
        return None
    if message is None:
        return None
    config = _payload(message).get("config") if isinstance(message, dict) else None
    return config if isinstance(config, dict) else {}


def progress(path: Path) -> Mapping[str, int]:
    """Return the newest ``step`` and ``episode`` reported near the end of the file."""
    counts: dict[str, int] = {}
    for message in _from_end(path, (HEARTBEAT, METRICS, CHECKPOINT_SAVED, RUN_COMPLETED), 1 << 16):
        payload = _payload(message)
        for name, key in (("step", "step"), ("episode", "episode"), ("episode", "episodes")):
            value = payload.get(key)
            if name not in counts and is_count(value):
                counts[name] = int(value)
        if len(counts) == 2:
            break
    return counts


def recent_values(path: Path, names: Sequence[str], count: int) -> list[float]:
    """Return the last ``count`` values, oldest first, of the first of ``names`` reported near the end of the
    file."""
    by_name: dict[str, list[float]] = {name: [] for name in names}
    for message in _from_end(path, (METRICS,), _VALUES_WINDOW, names):
        values = _payload(message).get("values")
        if not isinstance(values, dict):
            continue
        for name in names:
            value = values.get(name)
            if _is_finite(value):
                by_name[name].append(float(value))
        if len(by_name[names[0]]) >= count:
            break
    return next((newest[:count][::-1] for newest in by_name.values() if newest), [])


def recent_returns(path: Path, count: int) -> list[float]:
    """Return the returns of the last ``count`` episodes near the end of the file, oldest first. With several
    agents, each is their mean."""
    lines = (line for line in _from_end(path, (EPISODE,)) if _is_finite(line.get("total_reward")))
    episodes = groupby(lines, lambda line: line.get("episode_index"))
    means = (fmean(line["total_reward"] for line in agents) for _, agents in islice(episodes, count))
    return list(means)[::-1]


def saved_at(path: Path) -> int | None:
    """Return the step of the newest checkpoint that is reported near the end of the file and still exists."""
    for message in _from_end(path, (CHECKPOINT_SAVED,)):
        payload = _payload(message)
        name, step = payload.get("checkpoint_path"), payload.get("step")
        if isinstance(name, str) and name and is_count(step) and is_there(path.parent / name):
            return int(step)
    return None


def last_lines(path: Path, count: int, window: int = 1 << 16) -> list[str]:
    """Return the last ``count`` lines within the last ``window`` bytes of a text file; none if it is missing.

    Lines that a progress bar rewrote with carriage returns are reduced to their last form, and control
    sequences such as colours are removed.
    """
    lines = _end(path, window).decode("utf-8", "replace").rstrip("\n").split("\n")
    return (
        [sanitize(line.rstrip("\r").rpartition("\r")[2]) for line in lines[-count:]] if lines != [""] else []
    )


def is_there(path: Path) -> bool:
    """Return whether the path exists; False for paths that cannot exist (a worker may send any string)."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_count(value: object) -> TypeGuard[float]:
    """Return whether a worker's value is a valid count: a number from 0 to 2**53, not NaN."""
    return isinstance(value, int | float) and 0 <= value <= 2**53


def _is_finite(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and abs(value) < 1e300


def _end(path: Path, window: int) -> bytes:
    try:
        with open_file(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - window))
            return file.read(window)
    except OSError:
        return b""


def _from_end(
    path: Path, kinds: Sequence[str], window: int = _WINDOW, words: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the messages of these kinds in the last ``window`` bytes of a file, newest first; with ``words``,
    only messages that contain one of them."""
    markers = [f'"{word}"'.encode() for word in words or kinds]
    for line in reversed(_end(path, window).split(b"\n")):
        if not any(mark in line for mark in markers):
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
