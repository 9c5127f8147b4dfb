"""Live panels for tabs of the page's main area rather than cells: closed with their tab, never saved."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs import Run
from mosaic_lab.runs.kinds import kind_of
from mosaic_lab.widgets.page.background import in_background

if TYPE_CHECKING:
    from mosaic_lab.arenas import Comparison
    from mosaic_lab.widgets.page.live_panel import LivePanel

MOST_OPEN = 32
"""Maximum number of tabs of one store. A reloaded or closed page never closes its tabs, so the oldest is
dropped."""


class Tabs:
    """The panels open in tabs, by the model ids of their widgets."""

    def __init__(self) -> None:
        self._open: dict[str, Callable[[], object]] = {}
        self._comparisons: dict[tuple[str, ...], str] = {}
        self._lock = threading.Lock()

    def open_panel(self, runs: list[Run]) -> str:
        """Create the panel of one run, several runs, an evaluation or a sweep, and return its model id."""
        from mosaic_lab.widgets.runs.run_panel import RunPanel

        panel: LivePanel
        panels = [kind.panel for run in runs if (kind := kind_of(run)).panel]
        if not panels:
            panel = RunPanel(runs, alone=len(runs) == 1)
        elif len(runs) == 1:
            panel = resolve_name(panels[0])(runs[0].folder)
        else:
            raise ConfigurationError(
                "an evaluation or a sweep has a panel of its own: select it alone, or only trainings"
            )
        panel.on_ended = partial(in_background, panel.settle)
        panel.start()
        if panel.finished:
            panel.on_ended()
        return self._add(panel, panel.close)

    def comparison_of(self, runs: tuple[str, ...]) -> str | None:
        """Return the model id of the open comparison of these runs, so that a reloaded page shows it
        again."""
        with self._lock:
            return self._comparisons.get(runs)

    def open_comparison(self, runs: tuple[str, ...], comparison: Comparison) -> str:
        """Create the panel of a comparison, which ends with its tab, and return its model id."""
        from mosaic_lab.widgets.comparison.comparison_panel import panel_of

        panel = panel_of(comparison)
        panel.follow()
        model_id = self._add(panel, partial(_end, comparison, panel))
        with self._lock:
            self._comparisons[runs] = model_id
        return model_id

    def close(self, model_id: str) -> None:
        with self._lock:
            close = self._open.pop(model_id, None)
            self._comparisons = {runs: tab for runs, tab in self._comparisons.items() if tab != model_id}
        if close is not None:
            close()

    def _add(self, panel: LivePanel, close: Callable[[], object]) -> str:
        model_id = str(panel.box.model_id)
        with self._lock:
            self._open[model_id] = close
            oldest = list(self._open)[:-MOST_OPEN]
        for old in oldest:
            self.close(old)
        return model_id


def _end(comparison: Comparison, panel: LivePanel) -> None:
    comparison.stop(timeout=0)
    panel.close()
