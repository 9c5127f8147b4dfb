"""The workers as listed by the page: installation state, versions and results of their checks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mosaic_lab import workers
from mosaic_lab.workers.checking import last_check
from mosaic_lab.workers.families import families


@dataclass(frozen=True)
class WorkerRow:
    """A worker. Fields known only after installation are empty, 0 or None before it.

    ``state`` is "installed", "not installed", "outdated" or "broken", and ``detail`` gives the reason.
    ``provides`` are globs of the environments that it provides. ``checked``: time of the last check in Unix
    seconds; ``failed``: names of its failed tests, with the errors.
    """

    name: str
    state: str
    detail: str
    about: str
    origin: str
    upstream: str
    version: str
    source: str
    python: str
    size_bytes: int
    created: float | None
    provides: list[str]
    algorithms: list[str]
    modes: list[str]
    trains: bool
    checked: float | None
    checks: int
    failed: dict[str, str]


def worker_rows() -> list[dict[str, Any]]:
    """Return every known worker, training workers first, each group by name. Starts no process."""
    globs = families()
    rows = [_row(info, list(globs.get(info.name, ()))) for info in workers.catalog()]
    return [asdict(row) for row in sorted(rows, key=lambda row: (not row.algorithms, row.name))]


def _row(info: workers.WorkerInfo, provides: list[str]) -> WorkerRow:
    installed = info.worker_environment
    check = last_check(installed) if installed else None
    about = installed.metadata if installed else None
    can = installed.capabilities if installed else None
    return WorkerRow(
        name=info.name,
        state=info.state,
        detail=info.detail,
        about=(about.description if about else "") or (info.shim.description if info.shim else ""),
        origin=info.origin,
        upstream=about.upstream if about else "",
        version=about.version if about else "",
        source=(installed.source or "") if installed else "",
        python=installed.python_version if installed else (info.shim and info.shim.python) or "",
        size_bytes=installed.size_bytes if installed else 0,
        created=(installed.created or None) if installed else None,
        provides=provides,
        algorithms=can.algorithms if can else [],
        modes=can.modes if can else [],
        trains="train" in can.modes if can else info.shim is not None and info.shim.trains,
        checked=check.checked if check else None,
        checks=check.count if check else 0,
        failed=check.failed if check else {},
    )
