"""Evaluations in a notebook: a live panel, plots of their results, and the static forms of both.

What draws is imported when something is first shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic_lab.evaluation.reports.plot import Plot


def show_plot(plot: Plot) -> None:
    """Show a plot here, live, with its static form beside it."""
    from mosaic_lab.widgets.evaluation.plot_widgets import show

    show(plot)
