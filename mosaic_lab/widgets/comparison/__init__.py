"""A comparison in a notebook: lanes side by side, live, and their static form."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic_lab.arenas import Comparison


def show_comparison(comparison: Comparison) -> None:
    """Show a comparison in the running cell; reuse a widget of this kernel.

    Ends the comparison previously shown by this cell if no variable refers to it.
    """
    from mosaic_lab.widgets.comparison.comparison_panel import end_previous, panel_of

    end_previous(comparison)
    panel_of(comparison).show()
