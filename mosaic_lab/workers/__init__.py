"""Worker environments: one virtual environment per worker, built with uv from the worker's own pins.

An environment that is found is finished: killed, parallel and failed installations never show.
``mosaic_lab.workers()``, the package called as a function, is the table of all workers.
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
        """Return a row for each known worker: state, library, algorithms, environments."""
        from mosaic_lab.workers.tables import workers_table  # pandas, which most uses of workers do without

        return workers_table()


sys.modules[__name__].__class__ = _Package
