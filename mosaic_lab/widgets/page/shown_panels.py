"""Panels in a notebook's output, live and as the static form that stays when the kernel is gone.

A panel is three outputs in a row (see ``outputs``): the live widget, a table, a picture. The last two are
filled in when what it shows has ended. Where no browser ever showed the widget, its output is emptied in the
end. The widgets are closed when no output shows them any more, when their runs were removed, and when too
many others have ended since.
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
from mosaic_lab.widgets.page.live_panel import LivePanel
from mosaic_lab.widgets.page.outputs import PanelOutput, new_id, publish
from mosaic_lab.widgets.page.saved_form import Caption, SavedForm
from mosaic_lab.widgets.page.shell import cell_number

MOST_PANELS = 16
"""Panels kept alive; beyond it those of ended runs, oldest first, give way to their static form."""
MOMENT_SECONDS = 1.0
"""How long a cell waits for the static form of what has ended, so that most of it is there with the cell."""

Key = tuple[tuple[Path, ...], *tuple[Any, ...]]
"""The folders of the runs that a panel shows, and how it shows them."""


class ShownPanel:
    """One panel with its saved form; ``shows`` describes it to a later kernel."""

    def __init__(self, panel: LivePanel, key: Key, shows: dict[str, Any] | None) -> None:
        self.panel = panel
        self.cell = 0
        """The number of the cell that showed it last; 0: one of a former kernel."""
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
        self._showed_the_end: set[PanelOutput] = set()
        self._lock = threading.Lock()
        self._settling = threading.Lock()
        self._filled = threading.Event()
        panel.on_ended = self._settle_soon = partial(in_background, self.settle)

    @property
    def settled(self) -> bool:
        """Whether the static form is filled in: nothing will change any more."""
        return self._filled.is_set()

    @property
    def closed(self) -> bool:
        """Whether the widgets were closed."""
        return self.panel.closed

    def show(self, output: PanelOutput, *, update: bool) -> None:
        """Show the panel in an output that was added; ``update``: it is on the page already.

        What takes long to read and to draw is filled in later: this cell continues.
        """
        self.panel.start()
        self.cell = self.cell if update else cell_number()
        ended = self.panel.finished
        if ended and update:  # no cell waits
            self.settle()
        elif ended and not self.settled:
            self._settle_soon()
            self._filled.wait(MOMENT_SECONDS)
        with self._lock:
            self.form.show(self.panel.box, output, update=update)
            if not ended:
                self._showed_the_end.add(output)

    def settle(self) -> None:
        """If what it shows has ended, fill in the static form, in every output, before returning."""
        with self._settling:
            if self.settled or self.closed or not self.panel.settle():
                return
            self._read_to_end = True
            self.form.update(final=True)
            with self._lock:
                unseen = set() if self.panel.visibility.ever else self._showed_the_end & {*self.form.outputs}
                self.form.hide_widget(unseen)
            self._filled.set()
        if unseen == {*self.form.outputs}:
            self.close()
        _close_surplus()

    def show_removal(self) -> None:
        """Have the static form say that runs were removed, and close the widgets if none remains."""
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
        """Close the widgets: no output shows them any more. The runs continue."""
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
    """Show the panel of this key in the cell's output: the one of before, if there is one that is not
    outdated, else a new one.

    ``shows`` describes it to a later kernel; ``output`` is where a former one has shown it.
    """
    with _shown_lock:
        shown = _shown.pop(key, None)
        if shown is None or shown.closed or shown.panel.outdated:
            shown = ShownPanel(make(), key, shows)
        _shown[key] = shown
        added = shown.form.add(output)
    _close_surplus()
    shown.show(added, update=output is not None)


def _close_surplus() -> None:
    """Close the panels of ended runs that are too many, those shown first."""
    with _shown_lock:
        settled = [key for key in _shown if _shown[key].settled]
        given_up = [_shown.pop(key) for key in settled[: max(0, len(_shown) - MOST_PANELS)]]
    for shown in given_up:
        shown.close()


_ended: set[tuple[Path, int]] = set()
"""Folders of runs whose end the running cell has waited for, with the cell's number."""


def report_ended(runs: Run | RunGroup) -> bool:
    """If the running cell has waited for the end of these runs and panels show them: report it in a line."""
    several = [runs] if isinstance(runs, Run) else list(runs)
    showing = [_panels_of(run) for run in several]
    if not all(showing) or any((run.path, cell_number()) not in _ended for run in several):
        return False
    what = runs.label if isinstance(runs, Run) else runs.name or f"{len(several)} runs"
    cells = sorted({panel.cell for panels in showing for panel in panels})
    elsewhere = f"in the output of cell [{cells[-1]}]" if cells[-1] else "where it was before the restart"
    where = "above" if cells == [cell_number()] else elsewhere
    publish({"text/plain": f"{what}: {states_text(several)}; its panel is {where}"}, new_id(), update=False)
    return True


def settle_panels(run: Run) -> None:
    """Fill in the static form of every panel that shows ``run``, if its runs have ended."""
    global _ended
    cell = cell_number()
    _ended = {(path, ended_in) for path, ended_in in _ended if ended_in == cell} | {(run.path, cell)}
    for shown in _panels_of(run):
        shown.settle()


def show_removal(run: Run) -> None:
    """Have every panel that shows ``run`` say that it was removed."""
    showing = _panels_of(run)
    for shown in showing:
        shown.show_removal()
    with _shown_lock:
        for key in [key for key, shown in _shown.items() if shown in showing and shown.closed]:
            del _shown[key]


def _panels_of(run: Run) -> list[ShownPanel]:
    with _shown_lock:
        return [shown for key, shown in _shown.items() if run.path in key[0]]
