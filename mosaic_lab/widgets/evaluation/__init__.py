"""Evaluations in a notebook: a live panel, plots of their results, and the static forms of both.

Drawing code is imported when something is first shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic_lab.evaluation.reports.plot import Plot


def show_plot(plot: Plot) -> None:
    """Show a live plot in the running cell, with its static form."""
    from mosaic_lab.widgets.evaluation.plot_widgets import show

    show(plot)
