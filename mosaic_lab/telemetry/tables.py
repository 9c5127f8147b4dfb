"""The complete data of a run as pandas tables. ``table.attrs["health"]`` counts unusable lines.

pandas is imported on first use, because its import takes a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mosaic_lab.keeper.events import EPISODE, METRICS
from mosaic_lab.telemetry.decoding import Message, parse
from mosaic_lab.telemetry.follower import JsonlFollower

if TYPE_CHECKING:
    import pandas as pd

EPISODE_COLUMNS = {
    "episode_index": "Int64",
    "agent_id": "object",
    "total_reward": "float64",
    "steps": "Int64",
    "terminated": "boolean",
    "truncated": "boolean",
    "episode_seed": "Int64",
    "duration_seconds": "float64",
    "step": "Int64",
    "timestamp": "float64",
}
"""Columns of :func:`read_episodes` and their dtypes. Fields missing from a line are missing in its row."""


def read_metrics(path: Path | str, name: str | None = None, beside: Iterable[Path] = ()) -> pd.DataFrame:
    """Return all metric points in the file in order of writing, one row per point.

    Columns: ``step`` int64, ``timestamp`` float64 (Unix seconds, NaN if the line has none), ``name``
    category, ``value`` float64 (including NaN and infinities). A line without a step has the step of the
    previous line. ``name`` selects one metric. A missing file yields an empty table. ``beside`` are
    further files of the run, whose points follow; the health counts refer to the worker's file.
    """
    import pandas as pd

    follower = JsonlFollower(path)
    followers = [follower, *map(JsonlFollower, beside)]
    steps: list[int] = []
    timestamps: list[float | None] = []
    sizes: list[int] = []
    codes: list[int] = []
    values: list[float | str] = []
    code_of: dict[str, int] = {}
    step = 0
    for message in chain.from_iterable(map(_messages, followers)):
        if message.event != METRICS:
            continue
        payload = message.payload
        assert payload is not None  # ensured by parse()
        metrics = payload.values
        assert metrics is not None
        step = step if payload.step is None else payload.step
        if name is not None:
            if name not in metrics:
                continue
            metrics = {name: metrics[name]}
        steps.append(step)
        timestamps.append(message.timestamp)
        sizes.append(len(metrics))
        values.extend(metrics.values())
        for key in metrics:
            code = code_of.get(key)
            if code is None:
                code = code_of[key] = len(code_of)
            codes.append(code)
    names = pd.Categorical.from_codes(np.array(codes, dtype=np.int64), categories=pd.Index(list(code_of)))
    table = pd.DataFrame(
        {
            "step": np.repeat(np.array(steps, dtype=np.int64), sizes),
            "timestamp": np.repeat(np.array(timestamps, dtype=np.float64), sizes),
            "name": names,
            "value": np.array(values, dtype=np.float64),
        }
    )
    table.attrs["health"] = follower.health.counts()
    return table


def read_episodes(path: Path | str) -> pd.DataFrame:
    """Return all ended episodes in the file in order of writing, one row per line, with ``EPISODE_COLUMNS``.

    A missing file yields an empty table.
    """
    import pandas as pd

    follower = JsonlFollower(path)
    episodes = [message for message in _messages(follower) if message.type == EPISODE]
    table = pd.DataFrame(
        {
            column: _column([getattr(episode, column) for episode in episodes], dtype)
            for column, dtype in EPISODE_COLUMNS.items()
        }
    )
    table.attrs["health"] = follower.health.counts()
    return table


def _column(values: list[Any], dtype: str) -> Any:
    if dtype == "float64":
        return np.array(values, dtype=np.float64)  # parses "NaN" and "Infinity"; None becomes NaN
    import pandas as pd

    return pd.Series(values, dtype=dtype)


def _messages(follower: JsonlFollower) -> Iterator[Message]:
    return filter(None, map(parse, follower.lines(), repeat(follower.health)))
