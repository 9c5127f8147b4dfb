"""Details of single runs beside their rows: last values of metrics, the code to run them again."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.results import READ_SECONDS, last_values
from mosaic_lab.runs import Run
from mosaic_lab.runs.kinds import kind_of


def details(run: Run, pool: ColumnPool) -> dict[str, Any]:
    """Return ``RunDetails`` of ``js/src/shared/run-api.ts``. ``pool`` is where the metrics are read."""
    found = pool.columns([run], Reading(), READ_SECONDS)
    return {"results": next((last_values(columns) for _, columns in found), {}), "code": code(run)}


def code(run: Run) -> str:
    """Return the Python code that makes a run again; empty for a run that no single call has made."""
    path = kind_of(run).code
    return str(resolve_name(path)(run)) if path and run.config else ""
