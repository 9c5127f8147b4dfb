"""Ending the comparison that a cell showed when it was executed before.

What crosses this boundary: `take_over`. IPython keeps every value that a cell has shown, under its number: a
comparison that no name is left for would keep its processes until the kernel ends, and each time that its
cell is executed again there would be one more.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any

from IPython.core.getipython import get_ipython

from mosaic_lab.arenas import Comparison
from mosaic_lab.errors import MosaicError

_shown: dict[str, weakref.ref[Comparison]] = {}


def take_over(comparison: Comparison) -> None:
    """This cell shows ``comparison``; the one that it showed before is ended, unless a name stands for it."""
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
