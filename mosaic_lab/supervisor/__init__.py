"""Runs: starting, watching, stopping and finding them again, and the store their folders lie in.

Crosses the boundary: the names in ``__all__``. Each is imported when first used, because a keeper process,
which needs hardly any of it, passes through here too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mosaic_lab.supervisor.checkpoints import Checkpoint
    from mosaic_lab.supervisor.group import RunGroup
    from mosaic_lab.supervisor.run import Run
    from mosaic_lab.supervisor.states import Outcome, RunStatus, State
    from mosaic_lab.supervisor.store import RunFolder, RunStore
    from mosaic_lab.supervisor.supervisor import Supervisor

_HOME_OF = {
    "Checkpoint": "checkpoints",
    "Outcome": "states",
    "Run": "run",
    "RunFolder": "store",
    "RunGroup": "group",
    "RunStatus": "states",
    "RunStore": "store",
    "State": "states",
    "Supervisor": "supervisor",
}

__all__ = [
    "Checkpoint",
    "Outcome",
    "Run",
    "RunFolder",
    "RunGroup",
    "RunStatus",
    "RunStore",
    "State",
    "Supervisor",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
