"""The notebook of this kernel process, if any."""

from __future__ import annotations

import sys
from typing import Any


def ipython_shell() -> Any | None:
    """Return IPython's shell in a terminal or a notebook's kernel, None elsewhere."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    return get_ipython()


def notebook_shell() -> Any | None:
    """Return IPython's shell in a notebook's kernel, None elsewhere."""
    shell = ipython_shell()
    return shell if getattr(shell, "kernel", None) is not None else None


def cell_number() -> int:
    """Return the number of the running cell; 0 outside a notebook."""
    # Not execution_count: some versions of IPython increment it before the cell runs, others after.
    history = getattr(notebook_shell(), "history_manager", None)
    return len(history.input_hist_raw) - 1 if history is not None else 0
