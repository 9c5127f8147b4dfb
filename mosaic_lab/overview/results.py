"""The results of a run: the last value of each of its metrics, its returns in a few numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.parts import counted, row_with_parts
from mosaic_lab.overview.returns import Returns, returns_of, with_returns
from mosaic_lab.overview.rows import RunRow
from mosaic_lab.runs import Run
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metric_names import ordered

READ_SECONDS = 10.0
"""Time limit for parsing the telemetry of one run, which is cached afterwards."""


@dataclass(frozen=True)
class Results:
    """``last`` is the last value of each metric, the usual ones first; None for NaN and the infinities, which
    JSON does not have. ``complete``: whether all of the telemetry has been read."""

    last: dict[str, float | None] = field(default_factory=dict)
    returns: Returns = field(default_factory=Returns)
    complete: bool = True


def results(run: Run, pool: ColumnPool, seconds: float = READ_SECONDS) -> Results:
    """Return the results of a run; parsing takes about ``seconds`` at most. What cannot be read has none."""
    reading = Reading()
    for _, columns in pool.columns([run], reading, seconds):
        return Results(last_values(columns), returns_of(run, columns), not reading.unread)
    return Results()


def last_values(columns: RunColumns) -> dict[str, float | None]:
    """Return the last value of each metric, as `Results.last` has it."""
    last = {name: float(columns.pieces(name)[-1].value[-1]) for name in ordered(columns.names)}
    return {name: value if math.isfinite(value) else None for name, value in last.items()}


def whole_row(run: Run, pool: ColumnPool) -> tuple[RunRow, Results]:
    """Return the row of a run with what its telemetry says, and its results."""
    found = results(run, pool)
    return with_returns(row_with_parts(run, found.returns.step, counted(run)), found.returns), found
