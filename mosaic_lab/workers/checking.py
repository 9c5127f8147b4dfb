"""Runs the contract's conformance suite on an installed worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.workers.catalog import find, not_installed

if TYPE_CHECKING:
    from mosaic_contract.conformance import CheckResult


def check(name: str, on_result: Callable[[CheckResult], None] = lambda result: None) -> list[CheckResult]:
    """Check that worker ``name`` keeps the protocol; return (name, passed, detail, seconds) per check.

    ``on_result`` is called after each. Raises WorkerEnvironmentError where the worker is not installed or
    ships no ``conformance.json``.
    """
    from mosaic_contract.conformance import check_worker

    worker_environment = find(name)
    if worker_environment is None:
        raise not_installed(name)
    try:
        return check_worker(name, python=str(worker_environment.python), on_result=on_result)
    except LookupError as error:
        raise WorkerEnvironmentError(f"Worker '{name}' cannot be checked: {error}") from error
