"""Sweeps in a notebook: a live panel and its static form. What draws is imported when one is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mosaic_lab.runs import Run

if TYPE_CHECKING:
    from mosaic_lab.widgets.page.outputs import PanelOutput


def is_sweep(run: Run) -> bool:
    """Whether a run is a sweep, whatever the handle that is held on it."""
    return "total_trials" in run.config


def show_sweep(sweep: Run, output: PanelOutput | None = None) -> None:
    """Show a sweep here; the same panel as before if it was shown already in this kernel.

    ``output``: show it there, where a former kernel has shown it.
    """
    from mosaic_lab.widgets.page.saved_panels import describe_panel
    from mosaic_lab.widgets.page.shown_panels import show_panel
    from mosaic_lab.widgets.sweeps.sweep_panel import SweepPanel

    paths = (sweep.path,)
    show_panel((paths, "sweep"), lambda: SweepPanel(sweep.folder), describe_panel("sweep", paths), output)


def reattach(runs: Sequence[Run], settings: Mapping[str, Any], output: PanelOutput) -> None:
    """Show the panel of a former kernel again."""
    show_sweep(runs[0], output)
