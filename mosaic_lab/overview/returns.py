"""The numbers of a run's row that its telemetry has: step, speed, last and best return, sparkline."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mosaic_lab.keeper.events import SYSTEM_PREFIX
from mosaic_lab.overview.averages import Floats
from mosaic_lab.overview.rows import RunRow
from mosaic_lab.runs import Run
from mosaic_lab.runs.kinds import kind_of
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metric_names import RETURN_NAMES
from mosaic_lab.telemetry.returns import ReturnMeans, episodes_return, is_usable

SPARKS = 40


@dataclass(frozen=True)
class Returns:
    """The step, speed and returns of a run, from its telemetry; see `RunRow`. ``first`` is the first step
    reported, ``speed`` that of the last seconds."""

    step: int | None = None
    first: int | None = None
    speed: float | None = None
    last: float | None = None
    best: float | None = None
    sparkline: tuple[float, ...] = ()


def returns_of(run: Run, columns: RunColumns) -> Returns:
    """Return the numbers of what has been read of a run. Of one whose episodes alone have returns, only the
    last is known."""
    names = [name for name in columns.names if not name.startswith(SYSTEM_PREFIX)]
    steps = [(pieces[0].step[0], pieces[-1].step[-1]) for pieces in map(columns.pieces, names)]
    progress = columns.progress
    values = _values(columns, next((name for name in RETURN_NAMES if name in names), None))
    values = values[is_usable(values)]
    means = ReturnMeans()
    means.add(values)
    last = means.last
    if last is None and kind_of(run).name != "evaluation":
        last = episodes_return(run.folder.telemetry_path)
    return Returns(
        step=max(progress.step, *(int(last) for _, last in steps)) if steps else progress.step or None,
        first=progress.first or min((int(first) for first, _ in steps if first > 0), default=None),
        speed=progress.steps_per_second,
        last=last,
        best=means.best,
        sparkline=tuple(float(f"{part.mean():.4g}") for part in np.array_split(values, SPARKS) if len(part)),
    )


def with_returns(row: RunRow, found: Returns) -> RunRow:
    """Return the row of a run with what has been read of its telemetry."""
    begun = found.first if row.continues else 0
    speed = found.speed if row.alive else mean_speed(row.step, begun, row.duration)
    return replace(
        row, speed=speed, last_return=found.last, best_return=found.best, sparkline=found.sparkline
    )


def mean_speed(step: int | None, begun: int | None, seconds: float | None) -> float | None:
    """Return the steps per second of a run that has ended: from the step that it began at, over all the time
    that its worker ran."""
    steps = (step or 0) - (begun or 0)
    return steps / seconds if steps > 0 and seconds else None


def _values(columns: RunColumns, name: str | None) -> Floats:
    parts = [piece.value for piece in columns.pieces(name)] if name is not None else []
    return np.concatenate([np.empty(0), *parts])
