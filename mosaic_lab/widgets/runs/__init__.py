"""Panels of runs, groups and other kinds of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from mosaic_lab.runs import Run
from mosaic_lab.runs.kinds import kind_of

if TYPE_CHECKING:
    from mosaic_lab.widgets.page.saved_form import PanelOutput


def show_runs(
    runs: Sequence[Run], *, alone: bool, metric: str | None, interval: bool, output: PanelOutput | None = None
) -> None:
    """Show the panel of these runs in the running cell; reuse a panel of this kernel. ``output``: an output
    of a former kernel to reuse. See `RunPanel` for the other arguments."""
    from mosaic_lab.widgets.page.panel_outputs import show_panel
    from mosaic_lab.widgets.page.saved_form import describe_panel
    from mosaic_lab.widgets.runs.run_panel import RunPanel

    paths = tuple(run.path for run in runs)
    show_panel(
        (paths, alone, metric, interval),
        lambda: RunPanel(runs, alone=alone, metric=metric, interval=interval),
        describe_panel("runs", paths, alone=alone, metric=metric, interval=interval),
        output,
    )


def show_own_panel(run: Run, output: PanelOutput | None = None) -> None:
    """Show the panel of a run's kind (`RunKind.panel`) in the running cell; reuse a panel of this kernel.
    ``output``: an output of a former kernel to reuse."""
    from mosaic_lab.widgets.page.panel_outputs import show_panel
    from mosaic_lab.widgets.page.saved_form import describe_panel

    kind, paths = kind_of(run), (run.path,)
    panel = resolve_name(kind.panel)
    show_panel((paths, kind.name), lambda: panel(run.folder), describe_panel(kind.name, paths), output)


def reattach_own_panel(runs: Sequence[Run], settings: Mapping[str, Any], output: PanelOutput) -> None:
    """Show a former kernel's panel again if the run's kind still has its own panel."""
    if kind_of(runs[0]).panel:
        show_own_panel(runs[0], output)


def reattach(runs: Sequence[Run], settings: Mapping[str, Any], output: PanelOutput) -> None:
    """Show a former kernel's panel again, according to its description."""
    metric = settings.get("metric")
    show_runs(
        runs,
        alone=settings.get("alone") is True and len(runs) == 1,
        metric=metric if isinstance(metric, str) else None,
        interval=settings.get("interval") is True,
        output=output,
    )
