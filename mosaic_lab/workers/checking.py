"""Run the contract's conformance suite on an installed worker and store the result."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.workers.catalog import find, not_installed
from mosaic_lab.workers.home import worker_folder
from mosaic_lab.workers.worker_environment import WorkerEnvironment

if TYPE_CHECKING:
    from mosaic_contract.conformance import CheckResult

RESULT = "check.json"


@dataclass(frozen=True)
class LastCheck:
    """The result of a worker's latest `check`: ``checked`` in seconds since 1970, the number of checks, and
    the details of failed checks by name."""

    checked: float
    count: int
    failed: dict[str, str]


def check(name: str, on_result: Callable[[CheckResult], None] = lambda result: None) -> list[CheckResult]:
    """Check that worker ``name`` follows the protocol; return (name, passed, detail, seconds) per check.

    ``on_result`` is called after each check. Raises WorkerEnvironmentError if the worker is not installed or
    has no ``conformance.json``.
    """
    from mosaic_contract.conformance import check_worker

    worker_environment = find(name)
    if worker_environment is None:
        raise not_installed(name)
    name = worker_environment.name
    try:
        results = check_worker(name, python=str(worker_environment.python), on_result=on_result)
    except LookupError as error:
        raise WorkerEnvironmentError(f"Worker '{name}' cannot be checked: {error}") from error
    failed = {result.name: result.detail for result in results if not result.passed}
    file = worker_folder(name) / RESULT
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(LastCheck(time.time(), len(results), failed))), encoding="utf-8")
    return results


def last_check(worker_environment: WorkerEnvironment) -> LastCheck | None:
    """Return the result of the latest `check` of a worker's current installation; None without one."""
    try:
        document = (worker_folder(worker_environment.name) / RESULT).read_text(encoding="utf-8")
        result = LastCheck(**json.loads(document))
    except (OSError, ValueError, TypeError):
        return None
    return result if result.checked >= worker_environment.created else None
