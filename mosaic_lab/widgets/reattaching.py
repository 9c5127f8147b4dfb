"""Panels of a former kernel, shown again by this one in the outputs where they stand."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from mosaic_lab.runs import Run
from mosaic_lab.widgets import frames, runs
from mosaic_lab.widgets.page.outputs import PanelOutput
from mosaic_lab.widgets.page.saved_panels import described_runs

logger = logging.getLogger(__name__)

KINDS: Mapping[object, Callable[[list[Run], Mapping[str, Any], PanelOutput], None]] = {
    "runs": runs.reattach,
    "evaluation": runs.reattach_own_panel,
    "frames": frames.reattach,
    "sweep": runs.reattach_own_panel,
}
"""How to show a panel of each kind again: of these runs, with the settings saved, in this output."""


def reattach(panel: Mapping[str, Any], output: PanelOutput) -> None:
    """Show the panel that a saved caption describes in its output; nothing where its runs are gone."""
    shows = panel.get("shows")
    if not isinstance(shows, Mapping) or not (show := KINDS.get(shows.get("kind"))):
        return
    if not (found := described_runs(shows.get("runs"))):
        return
    try:
        show(found, shows, output)
    except Exception:  # of whatever a notebook contains; the other panels come back all the same
        logger.exception("A panel could not be shown again.")
