"""The results of runs: finished parts, statistics of returns, last metrics; and a pandas table of runs.

The parts of a run are the episodes of an evaluation or the trials of a sweep.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mosaic_lab.evaluation import Evaluation
from mosaic_lab.keeper.events import SYSTEM_PREFIX
from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.curve_model import Floats
from mosaic_lab.overview.rows import RunRow, run_row, unreadable_row
from mosaic_lab.runs import Run
from mosaic_lab.runs.checkpoint_path import first_step
from mosaic_lab.runs.isolation import isolated
from mosaic_lab.runs.kinds import as_kind, kind_of
from mosaic_lab.sweeps import Sweep
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.metrics import RETURN_NAMES, SPEED, episodes_return, is_usable, ordered

if TYPE_CHECKING:
    import pandas as pd


READ_SECONDS = 10.0
"""Time limit for parsing the telemetry of one run, which is cached afterwards."""
SPARKS = 40
Counted = Evaluation | Sweep
COLUMNS = (
    *("id", "name", "kind", "state", "tags", "worker", "algorithm", "env", "seed", "group"),
    *("step", "total_steps", "last_return", "best_return", "speed", "duration"),
    *("created", "started", "ended"),
)
"""The first columns, fields of `RunRow`."""
_INTEGERS = ("seed", "step", "total_steps")
_TIMES = ("created", "started", "ended")
_LARGEST = 1 << 63
_NUMBERS = ("last_return", "best_return", "speed", "duration")
_GROUPS = ("params", "metrics")
_VERSIONS = ("worker_version", "upstream", "python")


def counted(run: Run) -> Counted | None:
    """Return a run as an instance of its kind if that kind has parts, else None."""
    counted_run = as_kind(run)
    return counted_run if isinstance(counted_run, Counted) else None


def row_with_parts(run: Run, step: int | None, parts: Counted | None) -> RunRow:
    """Return the row of a run, with the number of its finished ``parts``; if the run cannot be read, the row
    has the reason."""

    def read() -> RunRow:
        done, trouble = isolated(
            lambda: (None if parts is None else parts.done, ""), lambda reason: (None, reason)
        )
        trials, episodes = (done, None) if isinstance(parts, Sweep) else (None, done)
        steps = step if parts is None else None  # in other telemetry, steps number the parts
        return run_row(parts or run, steps, episodes, trials, trouble)

    return isolated(read, lambda reason: unreadable_row(run.id, "training", reason))


@dataclass(frozen=True)
class Returns:
    """The step, speed and returns of a run, from its telemetry; see `RunRow`.

    ``begun`` is the step at which the run began, ``speed`` the speed over the last seconds.
    """

    step: int | None = None
    begun: int = 0
    speed: float | None = None
    last: float | None = None
    best: float | None = None
    sparkline: tuple[float, ...] = ()


def returns_of(run: Run, columns: RunColumns) -> Returns:
    """Return a run's numbers from its columns. If only its episodes have returns, only the last return is
    known. Evaluations and films have none, because their episodes are those of several policies."""
    progress, means = columns.facts.progress, columns.facts.preferred_returns
    names = [name for name in columns.names if not name.startswith(SYSTEM_PREFIX)]
    values = _values(columns, next((name for name in RETURN_NAMES if name in names), None))
    values = values[is_usable(values)]
    last = means.last
    if last is None and kind_of(run).name not in ("evaluation", "films", "checkpoint evaluation"):
        last = episodes_return(run.folder.telemetry_path)
    return Returns(
        step=max(progress.step, run.resumed_step or 0) or None,
        begun=first_step(run, progress.first),
        speed=progress.steps_per_second,
        last=last,
        best=means.best,
        sparkline=tuple(float(f"{part.mean():.4g}") for part in np.array_split(values, SPARKS) if len(part)),
    )


def with_returns(row: RunRow, returns: Returns) -> RunRow:
    """Return the row of a run completed with numbers from its telemetry."""
    speed = returns.speed if row.alive else mean_speed((row.step or 0) - returns.begun, row.duration)
    return replace(
        row, speed=speed, last_return=returns.last, best_return=returns.best, sparkline=returns.sparkline
    )


def mean_speed(steps: int, seconds: float | None) -> float | None:
    """Return the steps per second of an ended run: its own steps, over the whole run time of its worker."""
    return steps / seconds if steps > 0 and seconds else None


def _values(columns: RunColumns, name: str | None) -> Floats:
    parts = [piece.value for piece in columns.pieces(name)] if name is not None else []
    return np.concatenate([np.empty(0), *parts])


@dataclass(frozen=True)
class RunResults:
    """The results of a run.

    ``last`` is the last value of each metric, the default ones first; None for NaN and infinities, which JSON
    cannot represent. The speed in the last second is left out: ``returns`` have the run's speed.
    ``complete``: whether all telemetry has been read.
    """

    last: dict[str, float | None] = field(default_factory=dict)
    returns: Returns = field(default_factory=Returns)
    complete: bool = True


def results(run: Run, pool: ColumnPool) -> RunResults:
    """Return the results of a run, from as much as can be parsed in ten seconds. A run that cannot be read
    has no results."""
    reading = Reading()
    for _, columns in pool.columns([run], reading, READ_SECONDS):
        return RunResults(last_values(columns), returns_of(run, columns), not reading.unread)
    return RunResults()


def last_values(columns: RunColumns) -> dict[str, float | None]:
    """Return the last value of each metric, as in `RunResults.last`."""
    last = {
        name: float(columns.pieces(name)[-1].value[-1]) for name in ordered(columns.names) if name != SPEED
    }
    return {name: value if math.isfinite(value) else None for name, value in last.items()}


def whole_row(run: Run, pool: ColumnPool) -> tuple[RunRow, RunResults]:
    """Return the row of a run, completed from its telemetry, and its results."""
    summary = results(run, pool)
    return with_returns(row_with_parts(run, summary.returns.step, counted(run)), summary.returns), summary


def data_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Return a row for each run; see `mosaic_lab.run_list.RunList.table`."""
    import pandas as pd

    pool = ColumnPool()
    rows = [_row(run, pool) for run in runs]
    table = pd.DataFrame(rows, columns=_ordered(name for row in rows for name in row))
    for name in table.columns:
        if name in _INTEGERS:
            small = table[name].map(
                lambda value: value if value is not None and abs(value) < _LARGEST else None
            )
            table[name] = small.astype("Int64")
        elif name in _TIMES:
            table[name] = pd.to_datetime(table[name].astype(float), unit="s", utc=True, errors="coerce")
        elif name in _NUMBERS or name.startswith("metrics."):
            table[name] = table[name].astype(float)
    return table


def _ordered(names: Iterable[str]) -> list[str]:
    """Return each name once: common columns, hyperparameters, metrics, then versions and notes."""
    distinct = list(dict.fromkeys((*COLUMNS, *names)))

    def group_index(name: str) -> int:
        group = name.partition(".")[0]
        return 0 if name in COLUMNS else _GROUPS.index(group) + 1 if group in _GROUPS else 3

    return sorted(distinct, key=group_index)


def _row(run: Run, pool: ColumnPool) -> dict[str, Any]:
    row, results = whole_row(run, pool)
    return {
        **{name: getattr(row, name) for name in COLUMNS},
        **dict(_parameters(row.hyperparameters, "params.")),
        **{f"metrics.{name}": value for name, value in results.last.items()},
        **_versions(run),
        "notes": row.notes,
    }


def _parameters(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield values that pandas can group by: the values of a table under their keys joined by ".", and lists
    as tuples."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _parameters(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _hashable(value)


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):  # in a list
        return tuple((name, _hashable(item)) for name, item in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _versions(run: Run) -> dict[str, Any]:
    provenance = run.provenance
    environment, git = (_table(provenance.get(name)) for name in ("environment", "git"))
    return {
        "mosaic_lab": provenance.get("mosaic_lab"),
        **{name: environment.get(name) for name in _VERSIONS},
        "platform": provenance.get("platform"),
        "git_commit": git.get("commit"),
        "git_dirty": git.get("dirty"),
    }


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
