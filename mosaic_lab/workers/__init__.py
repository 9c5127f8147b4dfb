"""Worker environments: one virtual environment per worker, built with uv from the worker's own pins.

What crosses this boundary: ``catalog``, ``info``, ``find``, ``install``, ``ensure``, ``describe``, ``check``
and ``remove``, the ``Environment`` that they return, and WorkerEnvironmentError. An environment that is found
is finished: killed, parallel and failed installations never show.
"""

from mosaic_lab.workers.catalog import WorkerInfo, catalog, find, info
from mosaic_lab.workers.checking import check
from mosaic_lab.workers.discovery import describe
from mosaic_lab.workers.environment import Environment
from mosaic_lab.workers.installing import ensure, install, remove

__all__ = [
    "Environment",
    "WorkerInfo",
    "catalog",
    "check",
    "describe",
    "ensure",
    "find",
    "info",
    "install",
    "remove",
]
