"""The complete data of a run as pandas tables. ``table.attrs["health"]`` counts unusable lines.

pandas is imported on first use, because its import takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mosaic_contract.config import nearest
from numpy.typing import NDArray

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.events import EPISODE, SYSTEM_PREFIX
from mosaic_lab.telemetry.column_chunks import Piece
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.stream import JsonlFollower, Message, parse_text

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


def metrics_table(columns: RunColumns, name: str | None = None) -> pd.DataFrame:
    """Return all metric points that have been read, in order of writing (in a line, in the order in which its
    metrics first appeared), one row per point.

    Columns: ``step`` int64, ``timestamp`` float64 (Unix seconds, NaN if the line has none), ``name``
    category, ``value`` float64 (including NaN and infinities). A line without a step has the step of the
    previous line. ``name`` selects one metric. The worker's points are followed by the keeper's and the
    evaluations'; the health counts refer to the worker's file.
    """
    import pandas as pd

    names = columns.names if name is None else [name]
    streams = columns.pieces_by_stream(names)
    points = [point for stream in streams for point in stream]
    order = _order(streams, columns) if name is None else slice(None)  # the points of one metric are in order
    count = sum(len(piece.value) for _, piece in points)

    def column(dtype: type[np.generic], parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
        return _joined(dtype, parts, count, columns)[order]

    code_of = {metric: code for code, metric in enumerate(names)}
    code = column(
        np.int16, (np.full(len(piece.value), code_of[metric_name], np.int16) for metric_name, piece in points)
    )
    table = pd.DataFrame(
        {
            "step": column(np.int64, (piece.step for _, piece in points)),
            "timestamp": column(np.float64, (piece.time for _, piece in points)),
            "name": pd.Categorical.from_codes(code, categories=pd.Index(names, dtype=object)),
            "value": column(np.float64, (piece.value for _, piece in points)),
        },
        copy=False,
    )
    table.attrs["health"] = columns.health.counts()
    return table


def metrics_tables(
    columns_of_runs: Iterable[RunColumns], name: str | None, ended: Callable[[], bool]
) -> list[pd.DataFrame]:
    """Return `metrics_table` of each of several runs.

    Raises ConfigurationError, with the nearest name, for a ``name`` that none of them has reported if they
    have all ``ended``. Runs that reported no metrics at all have no points.
    """
    tables: list[pd.DataFrame] = []
    names: set[str] = set()
    for columns in columns_of_runs:
        names.update(columns.names)
        tables.append(metrics_table(columns, name))
    worker_metrics = [reported for reported in names if not reported.startswith(SYSTEM_PREFIX)]
    if name is not None and name not in names and worker_metrics and ended():
        raise ConfigurationError(f"metric {name!r} was not reported{nearest(name, names)}")
    return tables


def wide_metrics(points: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Return metric points with a row for each step (of each of the ``keys``), a column for each metric."""
    groups = points.groupby([*keys, "step", "name"], observed=True, dropna=False)
    return groups["value"].last().unstack("name").rename_axis(columns=None).reset_index()


def read_episodes(path: Path | str) -> pd.DataFrame:
    """Return all ended episodes in the file in order of writing, one row per line, with ``EPISODE_COLUMNS``.

    A missing file yields an empty table.
    """
    import pandas as pd

    follower = JsonlFollower(path)
    episodes = [message for message in messages(follower) if message.type == EPISODE]
    table = pd.DataFrame(
        {
            column: _column([getattr(episode, column) for episode in episodes], dtype)
            for column, dtype in EPISODE_COLUMNS.items()
        }
    )
    table.attrs["health"] = follower.health.counts()
    return table


def _order(streams: Sequence[Sequence[tuple[str, Piece]]], columns: RunColumns) -> NDArray[np.int64]:
    """Return the indices of the points of several metrics in order of writing, file by file."""
    orders: list[NDArray[np.int64]] = []
    begin = 0
    for stream in streams:
        count = sum(len(piece.value) for _, piece in stream)
        rows = _joined(np.int64, (piece.row for _, piece in stream), count, columns)
        orders.append(begin + np.argsort(rows, kind="stable"))
        begin += count
    return np.concatenate(orders)


def _joined(
    dtype: type[np.generic], arrays: Iterable[NDArray[Any]], count: int, columns: RunColumns
) -> NDArray[Any]:
    """Return arrays of ``columns`` with ``count`` numbers as one, with at most one of them in memory at a
    time."""
    joined, begin = np.empty(count, dtype), 0
    for array in arrays:
        joined[begin : begin + len(array)] = array
        begin += len(array)
        columns.release()
    return joined


def _column(values: list[Any], dtype: str) -> Any:
    if dtype == "float64":
        return np.array(values, dtype=np.float64)  # parses "NaN" and "Infinity"; None becomes NaN
    import pandas as pd

    return pd.Series(values, dtype=dtype)


def messages(follower: JsonlFollower) -> Iterator[Message]:
    """Yield the messages up to the current end of a file. Problems are counted in the follower's health."""
    for text in follower.texts():
        yield from parse_text(text, follower.health)
