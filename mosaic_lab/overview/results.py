"""The results of a run: how many of its parts are done, its returns in a few numbers, its last metrics.

The parts of a run are the episodes of an evaluation or the trials of a sweep.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from mosaic_lab.evaluation import Evaluation
from mosaic_lab.keeper.events import SYSTEM_PREFIX
from mosaic_lab.overview.averages import Floats
from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.rows import RunRow, run_row, unreadable_row
from mosaic_lab.runs import Run
from mosaic_lab.runs.isolation import isolated
from mosaic_lab.runs.kinds import as_kind, kind_of
from mosaic_lab.sweeps import Sweep
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metric_names import RETURN_NAMES, ordered
from mosaic_lab.telemetry.returns import ReturnMeans, episodes_return, is_usable

READ_SECONDS = 10.0
"""Time limit for parsing the telemetry of one run, which is cached afterwards."""
SPARKS = 40
Counted = Evaluation | Sweep


def counted(run: Run) -> Counted | None:
    """Return a run as the kind whose parts are counted; None for a run without parts."""
    found = as_kind(run)
    return found if isinstance(found, Counted) else None


def row_with_parts(run: Run, step: int | None, parts: Counted | None) -> RunRow:
    """Return the row of a run, with how many of its ``parts`` are done; one that cannot be read says so."""

    def read() -> RunRow:
        done, trouble = isolated(
            lambda: (None if parts is None else parts.done, ""), lambda reason: (None, reason)
        )
        trials, episodes = (done, None) if isinstance(parts, Sweep) else (None, done)
        steps = step if parts is None else None  # the telemetry of the others numbers the parts
        return run_row(parts or run, steps, episodes, trials, trouble)

    return isolated(read, lambda reason: unreadable_row(run.id, "training", reason))


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


@dataclass(frozen=True)
class RunResults:
    """``last`` is the last value of each metric, the usual ones first; None for NaN and the infinities, which
    JSON does not have. ``complete``: whether all of the telemetry has been read."""

    last: dict[str, float | None] = field(default_factory=dict)
    returns: Returns = field(default_factory=Returns)
    complete: bool = True


def results(run: Run, pool: ColumnPool, seconds: float = READ_SECONDS) -> RunResults:
    """Return the results of a run; parsing takes about ``seconds`` at most. What cannot be read has none."""
    reading = Reading()
    for _, columns in pool.columns([run], reading, seconds):
        return RunResults(last_values(columns), returns_of(run, columns), not reading.unread)
    return RunResults()


def last_values(columns: RunColumns) -> dict[str, float | None]:
    """Return the last value of each metric, as `RunResults.last` has it."""
    last = {name: float(columns.pieces(name)[-1].value[-1]) for name in ordered(columns.names)}
    return {name: value if math.isfinite(value) else None for name, value in last.items()}


def whole_row(run: Run, pool: ColumnPool) -> tuple[RunRow, RunResults]:
    """Return the row of a run with what its telemetry says, and its results."""
    found = results(run, pool)
    return with_returns(row_with_parts(run, found.returns.step, counted(run)), found.returns), found
