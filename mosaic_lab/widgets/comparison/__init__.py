"""A comparison in a notebook: lanes side by side, live, and their static form."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic_lab.arenas import Comparison


def show_comparison(comparison: Comparison) -> None:
    """Show a comparison here; the same widget as before if it was shown already in this kernel.

    Another one that this very cell has shown, and that no name stands for any more, is ended.
    """
    from mosaic_lab.widgets.comparison.comparison_panel import end_previous, panel_of

    end_previous(comparison)
    panel_of(comparison).show()
