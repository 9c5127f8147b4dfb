"""The workers as listed by the page: installation state, versions and results of their checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mosaic_lab import workers
from mosaic_lab.workers.checking import last_check
from mosaic_lab.workers.families import families


def worker_rows() -> list[dict[str, Any]]:
    """Return every known worker as a ``WorkerRow`` of ``js/src/shared/run-api.ts``, training workers first,
    each group by name. Starts no process."""
    globs = families()
    rows = [_row(info, globs.get(info.name, ())) for info in workers.catalog()]
    return sorted(rows, key=lambda row: (not row["algorithms"], row["name"]))


def _row(info: workers.WorkerInfo, provides: Sequence[str]) -> dict[str, Any]:
    installed, library = info.worker_environment, info.metadata
    check = last_check(installed) if installed else None
    return {
        "name": info.name,
        "state": info.state,
        "detail": info.detail,
        "about": info.description,
        "upstream": library.upstream if library else "",
        "version": library.version if library else "",
        "source": (installed.source or "") if installed else "",
        "size_bytes": installed.size_bytes if installed else 0,
        "created": (installed.created or None) if installed else None,
        "provides": list(provides),
        "algorithms": info.algorithms,
        "trains": info.trains,
        "checked": check.checked if check else None,
        "checks": check.count if check else 0,
        "failed": check.failed if check else {},
    }
