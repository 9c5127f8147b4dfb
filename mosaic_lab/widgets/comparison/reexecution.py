"""Ending the comparison that a cell has shown when the cell is executed again.

IPython keeps every value that a cell has shown, under its number: a comparison that no name refers to any
more would keep its processes until the kernel ends, and every execution of its cell would add one.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any

from IPython.core.getipython import get_ipython

from mosaic_lab.arenas import Comparison
from mosaic_lab.errors import MosaicError

_shown: dict[str, weakref.ref[Comparison]] = {}


def end_previous(comparison: Comparison) -> None:
    """End the comparison that this cell has shown before, unless a name still refers to it."""
    shell: Any = get_ipython()
    cell = shell.get_parent().get("metadata", {}).get("cellId") if hasattr(shell, "get_parent") else None
    if not cell:
        return
    before = _shown.get(cell, lambda: None)()
    _shown[cell] = weakref.ref(comparison)
    if before is None or before is comparison:
        return
    named = any(value is before for name, value in shell.user_ns.items() if not name.startswith("_"))
    if not named:
        with suppress(MosaicError):
            before.stop(timeout=0)
