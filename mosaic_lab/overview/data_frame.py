"""Runs as a pandas table: settings, results and versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mosaic_lab.overview.column_pool import ColumnPool
from mosaic_lab.overview.results import whole_row
from mosaic_lab.runs import Run

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("id", "name", "kind", "state", "tags", "worker", "algorithm", "env", "seed", "group"),
    *("step", "total_steps", "last_return", "best_return", "duration", "created", "started", "ended"),
)
"""The first columns, fields of `RunRow`."""
_INTEGERS = ("seed", "step", "total_steps")
_TIMES = ("created", "started", "ended")
_LARGEST = 1 << 63
_NUMBERS = ("last_return", "best_return", "duration")
_GROUPS = ("params", "metrics")
_VERSIONS = ("worker_version", "upstream", "python")


def data_frame(runs: Iterable[Run], pool: ColumnPool | None = None) -> pd.DataFrame:
    """Return a row for each run; see `mosaic_lab.run_table.RunList.table`."""
    import pandas as pd

    pool = pool or ColumnPool()
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

    def place(name: str) -> int:
        group = name.partition(".")[0]
        return 0 if name in COLUMNS else _GROUPS.index(group) + 1 if group in _GROUPS else 3

    return sorted(distinct, key=place)


def _row(run: Run, pool: ColumnPool) -> dict[str, Any]:
    row, results = whole_row(run, pool)
    return {
        **{name: getattr(row, name) for name in COLUMNS},
        **{f"params.{name}": value for name, value in row.hyperparameters.items()},
        **{f"metrics.{name}": value for name, value in results.last.items()},
        **_versions(run),
        "notes": row.notes,
    }


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
