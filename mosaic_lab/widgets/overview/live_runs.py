"""`Lab.runs`: a list of runs that a notebook shows live."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mosaic_lab.run_table import RunList
from mosaic_lab.runs import Run
from mosaic_lab.widgets.page.shell import notebook_shell


class LiveRunList(RunList):
    """All runs of the store at ``root``, as it was read; a cell shows them live."""

    def __init__(self, root: Path, runs: Iterable[Run], notes: Iterable[str]) -> None:
        super().__init__(runs, notes=notes)
        self._root = root

    def _ipython_display_(self) -> None:
        if notebook_shell() is None or not self:
            raise NotImplementedError  # IPython then shows the text
        from mosaic_lab.widgets.overview.run_table import show_run_table

        show_run_table(self._root, self)
