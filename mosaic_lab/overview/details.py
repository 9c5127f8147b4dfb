"""What a page shows of single runs besides their rows: last values of metrics, the code to run them again."""

from __future__ import annotations

from typing import Any

from mosaic_lab.evaluation.code_text import evaluation_code
from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.results import READ_SECONDS, last_values
from mosaic_lab.overview.rows import KINDS
from mosaic_lab.runs import Run
from mosaic_lab.runs.code_text import training_code
from mosaic_lab.sweeps.code_text import sweep_code


def details(run: Run, pool: ColumnPool) -> dict[str, Any]:
    """Return ``RunDetails`` of ``js/src/shared/run-api.ts``. ``pool`` is where the metrics are read."""
    found = pool.columns([run], Reading(), READ_SECONDS)
    return {"results": next((last_values(columns) for _, columns in found), {}), "code": code(run)}


def code(run: Run) -> str:
    """Return the Python code that makes a run again; empty for a run that no single call has made."""
    kind = KINDS.get(run.worker, "training")
    if kind == "evaluation":
        return evaluation_code(run)
    if kind == "sweep":
        return sweep_code(run)
    return training_code(run) if kind in ("training", "script") and run.config else ""
