"""Tables of workers, algorithms and hyperparameters.

Imports pandas, so import this module only where a table is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from mosaic_contract.config import nearest

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.workers.catalog import WorkerInfo, catalog, find, not_installed
from mosaic_lab.workers.discovery import describe
from mosaic_lab.workers.families import families
from mosaic_lab.workers.worker_environment import WorkerEnvironment

_LIMITS = {"minimum": "≥", "exclusive_minimum": ">", "maximum": "≤"}
_WIDEST = 80  # characters of a cell in text output


class WorkerTable(pd.DataFrame):
    """A DataFrame of strings that a notebook displays in full, as it does slices of it."""

    @property
    def _constructor(self) -> type[WorkerTable]:
        return WorkerTable

    def _repr_html_(self) -> str:
        table = self.to_html(justify="left", na_rep="", max_rows=None)
        aligned = table.replace("<td>", '<td style="text-align:left">')  # Jupyter aligns cells to the right
        return f'<div style="overflow-x:auto">{aligned}</div>'

    def __repr__(self) -> str:
        return self.to_string(max_colwidth=_WIDEST, na_rep="")


def workers_table() -> WorkerTable:
    """Return one row per known worker, training workers first. No worker is started or installed."""
    globs = families()
    rows = [_worker_row(info, globs.get(info.name, ())) for info in catalog()]
    return _table(sorted(rows, key=lambda row: (not row["trains"], row["worker"])), "worker")


def algorithms(worker: str) -> WorkerTable:
    """Return one row per algorithm of an installed worker: its properties and number of hyperparameters.
    Raises ConfigurationError if the worker has no algorithms, WorkerEnvironmentError if it is not installed.
    """
    installed = _installed(worker)
    description = describe(installed)
    facts = description["capabilities"].get("algorithm_facts", {})
    rows = [
        {"algorithm": name, **facts.get(name, {}), "hyperparameters": len(parameters)}
        for name, parameters in description["hyperparameters"].items()
    ]
    if not rows:
        raise ConfigurationError(f"{installed.name} has no algorithms; mosaic.workers() shows which have")
    return _table(rows, "algorithm")


def hyperparameters(worker: str, algorithm: str) -> WorkerTable:
    """Return one row per hyperparameter of an algorithm: type, default, allowed values, upstream's help.

    Raises ConfigurationError if the worker does not have the algorithm, WorkerEnvironmentError if it is not
    installed.
    """
    installed = _installed(worker)
    by_algorithm = describe(installed)["hyperparameters"]
    name = installed.algorithm(algorithm)
    if name not in by_algorithm:
        source = f" ({installed.fallback})" if installed.fallback else ""
        raise ConfigurationError(
            f"{installed.name} has no algorithm {algorithm!r}{nearest(str(name), by_algorithm)}{source}"
        )
    rows = [
        {
            "hyperparameter": row["name"],
            "type": row["type"],
            "default": row.get("default"),
            "allowed": _allowed(row),
            "help": row.get("help") or "",
        }
        for row in by_algorithm[name]
    ]
    return _table(sorted(rows, key=lambda row: str(row["hyperparameter"])), "hyperparameter")


def _installed(worker: str) -> WorkerEnvironment:
    if (environment := find(worker)) is None:
        raise not_installed(worker)
    return environment


def _worker_row(info: WorkerInfo, globs: Sequence[str]) -> dict[str, Any]:
    installed = info.worker_environment
    return {
        "worker": info.name,
        "state": info.state,
        "library": info.metadata.upstream if info.metadata else "",
        "trains": info.trains,
        "algorithms": ", ".join(info.algorithms),
        "environments": " ".join(globs),
        "megabytes": round(installed.size_bytes / 1e6) if installed else 0,
        "description": info.description,
    }


def _allowed(row: Mapping[str, Any]) -> str:
    """Return the allowed values of a hyperparameter: ``relu, tanh``, or ``> 0, ≤ 1``."""
    if row.get("choices"):
        return ", ".join(map(str, row["choices"]))
    limits = (f"{sign} {row[name]:g}" for name, sign in _LIMITS.items() if row.get(name) is not None)
    return ", ".join(limits)


def _table(rows: Sequence[Mapping[str, Any]], index: str) -> WorkerTable:
    return WorkerTable(pd.DataFrame(rows, dtype=object).set_index(index))
