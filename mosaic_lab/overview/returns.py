"""The returns of a run in a few numbers: the last, the best, and a sparkline of all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mosaic_lab.overview.averages import Floats
from mosaic_lab.overview.rows import RunRow
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metric_names import RETURN_NAMES

WINDOW = 20
"""Episodes over which the last and the best return are means."""
SPARKS = 40
_SPEED = "steps_per_second"
_LARGEST = 1e300


@dataclass(frozen=True)
class Returns:
    """What a row of runs shows of a run's telemetry; see `RunRow`."""

    step: int | None = None
    speed: float | None = None
    last: float | None = None
    best: float | None = None
    sparkline: tuple[float, ...] = ()


def returns_of(columns: RunColumns) -> Returns:
    """Return the numbers of what has been read of a run."""
    names = columns.names
    steps = [columns.pieces(name)[-1].step[-1] for name in names]
    values = _values(columns, next((name for name in RETURN_NAMES if name in names), None))
    values = values[np.abs(values) < _LARGEST]  # neither NaN nor what sums of would overflow
    speeds = _values(columns, _SPEED if _SPEED in names else None)
    means = _moving_means(values)
    return Returns(
        step=int(max(steps)) if steps else None,
        speed=float(speeds[-1]) if len(speeds) and math.isfinite(speeds[-1]) else None,
        last=float(means[-1]) if len(means) else None,
        best=float(means.max()) if len(means) else None,
        sparkline=tuple(float(f"{part.mean():.4g}") for part in np.array_split(values, SPARKS) if len(part)),
    )


def with_returns(row: RunRow, found: Returns) -> RunRow:
    """Return the row with what has been read of its run's telemetry. A run that does not report its speed has
    the mean one."""
    speed = found.speed
    if speed is None and row.step and row.duration:
        speed = row.step / row.duration
    return replace(
        row, speed=speed, last_return=found.last, best_return=found.best, sparkline=found.sparkline
    )


def _values(columns: RunColumns, name: str | None) -> Floats:
    parts = [piece.value for piece in columns.pieces(name)] if name is not None else []
    return np.concatenate([np.empty(0), *parts])


def _moving_means(values: Floats) -> Floats:
    """Means over 20 consecutive values, or over all where there are fewer."""
    width = min(WINDOW, len(values))
    if not width:
        return values
    sums = np.cumsum(np.concatenate([[0.0], values]))
    means: Floats = (sums[width:] - sums[:-width]) / width
    return means
