"""Worker environments: one virtual environment per worker, built with uv from the worker's own pins.

Only complete environments are found; killed, concurrent and failed installations stay invisible. Calling the
package, ``mosaic_lab.workers()``, returns the table of all workers.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from mosaic_lab.workers.catalog import WorkerInfo, catalog, find, info
from mosaic_lab.workers.checking import check
from mosaic_lab.workers.discovery import describe
from mosaic_lab.workers.installing import ensure, install, remove
from mosaic_lab.workers.templates import new
from mosaic_lab.workers.worker_environment import WorkerEnvironment

if TYPE_CHECKING:
    from mosaic_lab.workers.tables import WorkerTable

__all__ = [
    "WorkerEnvironment",
    "WorkerInfo",
    "catalog",
    "check",
    "describe",
    "ensure",
    "find",
    "info",
    "install",
    "new",
    "remove",
]


class _Package(ModuleType):
    def __call__(self) -> WorkerTable:
        """Return one row per known worker: state, library, algorithms, environments."""
        from mosaic_lab.workers.tables import workers_table  # imports pandas, which few uses need

        return workers_table()


sys.modules[__name__].__class__ = _Package
