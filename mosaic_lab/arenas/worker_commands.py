"""The workers that an arena needs: the one that makes its environment, and those of its operators.

A worker that is not installed is installed, with progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mosaic_lab import workers
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.workers import WorkerEnvironment


def environment_worker(family: str, progress: Callable[[str], None]) -> WorkerEnvironment:
    """Return the worker ``family``. Raises ConfigurationError when it provides no environments."""
    return _worker(family, "arena", "provides no environments", progress)


def operator_commands(specs: Iterable[OperatorSpec], progress: Callable[[str], None]) -> dict[str, list[str]]:
    """Return the command of each worker that these operators need. Raises ConfigurationError for one that has
    no operators.
    """
    names = sorted({spec.worker for spec in specs if spec.worker is not None})
    return {name: _worker(name, "operate", "has no operators", progress).command() for name in names}


def _worker(name: str, mode: str, lacks: str, progress: Callable[[str], None]) -> WorkerEnvironment:
    worker_environment = workers.ensure(name, progress)
    if mode not in worker_environment.capabilities.modes:
        modes = ", ".join(worker_environment.capabilities.modes)
        raise ConfigurationError(f"worker '{name}' {lacks}: it can {modes or 'do nothing'}")
    return worker_environment
