"""Panels of runs and of groups of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mosaic_lab.runs import Run

if TYPE_CHECKING:
    from mosaic_lab.widgets.page.outputs import PanelOutput


def show_runs(
    runs: Sequence[Run],
    *,
    alone: bool,
    metric: str | None = None,
    interval: bool = False,
    output: PanelOutput | None = None,
) -> None:
    """Show the panel of these runs here; the same panel as before if it was shown already in this kernel.

    ``output``: show it there, where a former kernel has shown it. See `RunPanel` for the others.
    """
    from mosaic_lab.widgets.page.saved_panels import describe_panel
    from mosaic_lab.widgets.page.shown_panels import show_panel
    from mosaic_lab.widgets.runs.run_panel import RunPanel

    paths = tuple(run.path for run in runs)
    show_panel(
        (paths, alone, metric, interval),
        lambda: RunPanel(runs, alone=alone, metric=metric, interval=interval),
        describe_panel("runs", paths, alone=alone, metric=metric, interval=interval),
        output,
    )


def reattach(runs: Sequence[Run], settings: Mapping[str, Any], output: PanelOutput) -> None:
    """Show the panel of a former kernel again, with what its description says."""
    metric = settings.get("metric")
    show_runs(
        runs,
        alone=settings.get("alone") is True and len(runs) == 1,
        metric=metric if isinstance(metric, str) else None,
        interval=settings.get("interval") is True,
        output=output,
    )
