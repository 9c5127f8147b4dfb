"""Evaluations in a notebook: a live panel, plots of their results, and the static forms of both.

What draws is imported when something is first shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mosaic_lab.runs import Run

if TYPE_CHECKING:
    from mosaic_lab.evaluation.reports.plot import Plot
    from mosaic_lab.widgets.page.outputs import PanelOutput


def is_evaluation(run: Run) -> bool:
    """Whether a run is an evaluation, whatever the handle that is held on it."""
    return "total_episodes" in run.config


def show_evaluation(evaluation: Run, output: PanelOutput | None = None) -> None:
    """Show an evaluation here; the same panel as before if it was shown already in this kernel.

    ``output``: show it there, where a former kernel has shown it.
    """
    from mosaic_lab.widgets.evaluation.evaluation_panel import EvaluationPanel
    from mosaic_lab.widgets.page.saved_panels import describe_panel
    from mosaic_lab.widgets.page.shown_panels import show_panel

    paths = (evaluation.path,)
    show_panel(
        (paths, "evaluation"),
        lambda: EvaluationPanel(evaluation.folder),
        describe_panel("evaluation", paths),
        output,
    )


def reattach(runs: Sequence[Run], settings: Mapping[str, Any], output: PanelOutput) -> None:
    """Show the panel of a former kernel again."""
    show_evaluation(runs[0], output)


def show_plot(plot: Plot) -> None:
    """Show a plot here, live, with its static form beside it."""
    from mosaic_lab.widgets.evaluation.plot_widgets import show

    show(plot)
