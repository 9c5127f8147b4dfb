"""The kernel's side of the page's overview of run stores: answers over comms, and actions on runs.

Code for the page is imported when first needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.run_list import RunList
from mosaic_lab.runs import Run
from mosaic_lab.widgets.page.kernel import notebook_shell

if TYPE_CHECKING:
    from comm.base_comm import BaseComm

TARGET = "mosaic_lab.overview"
STORES: dict[str, Path] = {}
"""The run stores of this kernel's `Lab`s, by their paths as strings. Only these are served."""


def serve(root: Path) -> None:
    """Let pages open channels to this store. The serving code is imported when the first channel is
    opened."""
    import comm

    STORES[str(root)] = root
    comm.get_comm_manager().register_target(TARGET, _open)


def _open(comm: BaseComm, message: Mapping[str, Any]) -> None:
    from mosaic_lab.widgets.overview.channel import open_channel

    open_channel(comm, message)


class LiveRunList(RunList):
    """The value of `Lab.runs`: all runs of the store at ``root`` at the time of reading; a cell shows them
    live."""

    def __init__(self, root: Path, runs: Iterable[Run], notes: Iterable[str]) -> None:
        super().__init__(runs, notes=notes)
        self._root = root

    def _ipython_display_(self) -> None:
        if notebook_shell() is None or not self:
            raise NotImplementedError  # IPython then shows the text
        from mosaic_lab.widgets.overview.run_table import show_run_table

        show_run_table(self._root, self)
