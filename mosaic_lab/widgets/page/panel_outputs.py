"""Panels in a notebook's output, live and as a static form that remains after the kernel is gone.

A panel is three consecutive outputs (see ``saved_form``): the live widget, a table, a picture. The last two
are filled in when the panel's runs have ended. The widget's output is then emptied if no browser has ever
shown it. The widgets are closed once no output shows them, their runs were removed, or too many other panels
have ended since.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mosaic_lab.runs import Run, RunGroup
from mosaic_lab.runs.run_labels import states_text
from mosaic_lab.widgets.page.background import in_background
from mosaic_lab.widgets.page.kernel import cell_number
from mosaic_lab.widgets.page.live_panel import LivePanel
from mosaic_lab.widgets.page.saved_form import Caption, PanelOutput, SavedForm, new_id, publish

MAX_PANELS = 16
"""Maximum number of live panels; beyond it, the oldest panels of ended runs are replaced by their static
form."""
MOMENT_SECONDS = 1.0
"""Seconds that a cell waits for the static form of ended runs, so that it is usually complete when the cell
is."""

Key = tuple[tuple[Path, ...], *tuple[Any, ...]]
"""The folders of the runs that a panel shows, and its settings."""


class ShownPanel:
    """A panel with its saved form; ``shows`` describes it to a later kernel."""

    def __init__(self, panel: LivePanel, key: Key, shows: dict[str, Any] | None) -> None:
        self.panel = panel
        self.cell = 0
        """The number of the cell that showed the panel last; 0 for a cell of a former kernel."""
        self.form = SavedForm(
            panel.title,
            self._caption,
            panel.static_picture,
            pictured=f"{panel.title}: chart",
            on_removed=self._on_removed,
            description=shows,
        )
        self._key = key
        self._read_to_end = False
        self._shown_running: set[PanelOutput] = set()
        self._lock = threading.Lock()
        self._settling = threading.Lock()
        self._filled = threading.Event()
        panel.on_ended = self._settle_soon = partial(in_background, self.settle)

    @property
    def settled(self) -> bool:
        """Whether the static form is complete and final."""
        return self._filled.is_set()

    @property
    def closed(self) -> bool:
        """Whether the widgets were closed."""
        return self.panel.closed

    def show(self, output: PanelOutput, *, update: bool) -> None:
        """Show the panel in an added output; ``update``: the output is already on the page. Slow reading and
        drawing are completed later, so that the cell continues."""
        self.panel.start()
        self.cell = self.cell if update else cell_number()
        ended = self.panel.finished
        if ended and update:  # no cell is waiting
            self.settle()
        elif ended and not self.settled:
            self._settle_soon()
            self._filled.wait(MOMENT_SECONDS)
        with self._lock:
            self.form.show(self.panel.box, output, update=update)
            if not ended:
                self._shown_running.add(output)

    def settle(self) -> None:
        """If the runs have ended, complete the static form in every output before returning."""
        with self._settling:
            if self.settled or self.closed or not self.panel.settle():
                return
            self._read_to_end = True
            self.form.update(final=True)
            with self._lock:
                unseen = set() if self.panel.visibility.ever else self._shown_running & {*self.form.outputs}
                self.form.hide_widget(unseen)
            self._filled.set()
        if unseen == {*self.form.outputs}:
            self.close()
        _close_surplus()

    def show_removal(self) -> None:
        """Show in the static form that runs were removed, and close the widgets if no run remains."""
        if not self.settled:
            return
        with self._settling:
            self.panel.start()
            self.form.update(final=True)
        if not any(path.exists() for path in self._key[0]):
            self.close()

    def close(self) -> None:
        """Close the widgets: the page shows the static form in their place."""
        with self._lock:
            self.panel.close()

    def _on_removed(self) -> None:
        """Close the widgets, which no output shows any more. The runs continue."""
        with _shown_lock:
            if self.form.outputs or _shown.get(self._key) is not self:
                return
            del _shown[self._key]
        self.close()

    def _caption(self) -> Caption:
        if self._read_to_end:
            return self.panel.static_caption()
        doing = "being read" if self.panel.finished else "running"
        return Caption(f"still {doing} when this notebook was saved; {self.panel.again}")


_shown: OrderedDict[Key, ShownPanel] = OrderedDict()
_shown_lock = threading.Lock()


def show_panel(
    key: Key, make: Callable[[], LivePanel], shows: dict[str, Any] | None, output: PanelOutput | None
) -> None:
    """Show the panel with this key in the cell's output; reuse an existing panel unless it is outdated.
    ``shows`` describes it to a later kernel; ``output`` is an output of a former kernel to reuse."""
    with _shown_lock:
        shown = _shown.pop(key, None)
        if shown is None or shown.closed or shown.panel.outdated:
            shown = ShownPanel(make(), key, shows)
        _shown[key] = shown
        added = shown.form.add(output)
    _close_surplus()
    shown.show(added, update=output is not None)


def _close_surplus() -> None:
    """Close surplus panels of ended runs, those shown first."""
    with _shown_lock:
        settled = [key for key in _shown if _shown[key].settled]
        surplus = [_shown.pop(key) for key in settled[: max(0, len(_shown) - MAX_PANELS)]]
    for shown in surplus:
        shown.close()


_ended: set[tuple[Path, int]] = set()
"""Folders of runs whose end the running cell has awaited, with the cell's number."""


def report_ended(runs: Run | RunGroup) -> bool:
    """If the running cell has awaited the end of these runs and panels show them, report it in one line."""
    several = [runs] if isinstance(runs, Run) else list(runs)
    showing = [_panels_of(run) for run in several]
    if not all(showing) or any((run.path, cell_number()) not in _ended for run in several):
        return False
    subject = runs.label if isinstance(runs, Run) else runs.name or f"{len(several)} runs"
    cells = sorted({panel.cell for panels in showing for panel in panels})
    elsewhere = f"in the output of cell [{cells[-1]}]" if cells[-1] else "in the cell that displayed it"
    location = "above" if cells == [cell_number()] else elsewhere
    publish(
        {"text/plain": f"{subject}: {states_text(several)}; its panel is {location}"}, new_id(), update=False
    )
    return True


def settle_panels(run: Run) -> None:
    """Complete the static form of every panel that shows ``run``, if its runs have ended."""
    global _ended
    cell = cell_number()
    _ended = {(path, ended_in) for path, ended_in in _ended if ended_in == cell} | {(run.path, cell)}
    for shown in _panels_of(run):
        shown.settle()


def draw_again(run: Run) -> None:
    """Draw every panel of ``run`` again, after a change beside its folder."""
    for shown in _panels_of(run):
        if not shown.closed:
            shown.panel.draw_again()


def show_removal(run: Run) -> None:
    """Show in every panel of ``run`` that it was removed."""
    showing = _panels_of(run)
    for shown in showing:
        shown.show_removal()
    with _shown_lock:
        for key in [key for key, shown in _shown.items() if shown in showing and shown.closed]:
            del _shown[key]


def _panels_of(run: Run) -> list[ShownPanel]:
    with _shown_lock:
        return [shown for key, shown in _shown.items() if run.path in key[0]]
