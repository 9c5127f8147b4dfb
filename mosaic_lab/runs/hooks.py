"""What the layers below the notebook front need of it, so that they need not import it.

Crosses the boundary: lists of callables that the front (floor 4) appends to, and `front`, its module.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mosaic_lab.runs.run import Run

ended: list[Callable[[Run], None]] = []
"""Called, in the waiting thread, with a run whose end ``wait()`` or ``stop()`` has just seen, and with one
that is about to be deleted."""

removed: list[Callable[[Run], None]] = []
"""Called with a run that ``remove()`` has just deleted."""


def front() -> Any:
    """Return the module that shows and draws: `mosaic_lab.widgets`.

    It is imported when something is first drawn, by its name, since imports go down only; so drawing depends
    on nobody having set anything up.
    """
    return import_module("mosaic_lab.widgets")


def announce_end(run: Run) -> None:
    """Call what is in `ended`."""
    for tell in ended:
        tell(run)


def announce_removal(run: Run) -> None:
    """Call what is in `removed`."""
    for tell in removed:
        tell(run)
