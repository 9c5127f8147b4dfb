"""Worker environments: one virtual environment per worker, built with uv from the worker's own pins.

An environment that is found is finished: killed, parallel and failed installations never show.
"""

from mosaic_lab.workers.catalog import WorkerInfo, catalog, find, info
from mosaic_lab.workers.checking import check
from mosaic_lab.workers.discovery import describe
from mosaic_lab.workers.installing import ensure, install, remove
from mosaic_lab.workers.templates import new
from mosaic_lab.workers.worker_environment import WorkerEnvironment

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
