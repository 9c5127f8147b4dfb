"""A comparison in a notebook: lanes side by side, live, and their static form."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic_lab.arenas import Comparison
    from mosaic_lab.widgets.page.live_panel import LivePanel


def followed_panel(comparison: Comparison) -> LivePanel:
    """Return the panel of a comparison, and update it while a page shows it."""
    from mosaic_lab.widgets.comparison.comparison_panel import panel_of  # on first use

    panel = panel_of(comparison)
    panel.follow()
    return panel
