"""All about single runs, for a page: configuration, provenance, results, code, checkpoints."""

from __future__ import annotations

import math
from typing import Any

from mosaic_lab.evaluation.code_text import evaluation_code
from mosaic_lab.overview.column_pool import ColumnPool
from mosaic_lab.overview.results import results
from mosaic_lab.overview.rows import KINDS
from mosaic_lab.runs import Run
from mosaic_lab.runs.code_text import training_code


def details(run: Run, pool: ColumnPool) -> dict[str, Any]:
    """Return plain data, with None in place of numbers that JSON does not have; see ``RunDetails`` in
    ``js/src/shared/run-api.ts``. ``pool`` is where its metrics are read."""
    last = results(run, pool).last
    filmed = {film.step for film in run.films}
    found = {
        "hyperparameters": run.hyperparameters,
        "config": run.config,
        "provenance": run.provenance,
        "results": last,
        "metrics": list(last),
        "code": code(run),
        "checkpoints": [
            {"step": saved.step, "path": str(saved.path), "film": saved.step in filmed}
            for saved in run.checkpoints
        ],
    }
    return {name: finite(value) for name, value in found.items()}


def code(run: Run) -> str:
    """Return the Python code that makes a run again; empty for a run that no single call has made."""
    kind = KINDS.get(run.worker, "training")
    if kind == "evaluation":
        return evaluation_code(run)
    return training_code(run) if kind in ("training", "script") and run.config else ""


def finite(value: Any) -> Any:
    """Return plain data with None for NaN and the infinities, which other readers of JSON refuse."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
