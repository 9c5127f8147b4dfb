"""Panels in a notebook's output, live and as the static form that stays when the kernel is gone.

What crosses this boundary: panels of runs in, display messages out. A panel is three outputs in a row (see
``outputs``): the live widget, a table, a picture. The last two are filled in when the runs end. Where no
browser ever showed the widget, its output is emptied in the end. The widgets are taken back when nobody can
see them any more, when their runs were removed, and when too many others have ended since.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, Protocol

from mosaic_lab.runs import Run, RunGroup
from mosaic_lab.widgets.page.aside import aside
from mosaic_lab.widgets.page.outputs import NOTHING, Bundle, Place, caption, live, new_id, picture, publish
from mosaic_lab.widgets.page.places import Places
from mosaic_lab.widgets.page.visibility import Audience
from mosaic_lab.widgets.reattaching import described
from mosaic_lab.widgets.runs.panel import Panel

MOST_PANELS = 16
"""Panels kept alive; beyond it those of ended runs, oldest first, give way to their static form."""
MOMENT_SECONDS = 1.0
"""How long the static form of what has ended is waited for, so that most of it is there with its cell."""

Key = tuple[tuple[Path, ...], *tuple[Any, ...]]
"""The folders of the runs that a panel shows, and how it shows them."""


class Showable(Protocol):
    """What is asked of a panel; see `Panel` for each."""

    title: str
    again: str
    audience: Audience
    box: Any
    on_ended: Callable[[], None]

    @property
    def finished(self) -> bool: ...
    def start(self) -> None: ...
    def settle(self) -> bool: ...
    def still(self) -> tuple[str, bytes | None]: ...
    def close(self) -> None: ...


class Shown:
    """One panel and the places in the notebook where it is shown."""

    def __init__(self, panel: Showable, key: Key, shows: dict[str, Any] | None) -> None:
        self.panel = panel
        self.cell = 0
        """The number of the cell that showed it last; 0: one of a former kernel."""
        self.places = Places(self, shows)
        self._key = key
        self._outlived: set[Place] = set()  # they showed a run to its end
        self._still: tuple[str, bytes | None] | None = None
        self._lock = threading.Lock()
        self._settling = threading.Lock()
        self._filled = threading.Event()
        panel.on_ended = self._settle_aside

    @property
    def settled(self) -> bool:
        """Whether the static form is filled in: nothing will change any more."""
        return self._filled.is_set()

    @property
    def closed(self) -> bool:
        """Whether the widgets were taken back."""
        return self.panel.box.comm is None

    def show(self, place: Place, *, update: bool) -> None:
        """Show the panel at a place that was added; ``update``: its outputs are there already.

        What takes long to read and to draw is filled in later: this cell goes on.
        """
        self.panel.start()
        self.cell = self.cell if update else _cell()
        ended = self.panel.finished
        if ended and update:  # no cell waits
            self.settle()
        elif ended and not self.settled:
            self._settle_aside()
            self._filled.wait(MOMENT_SECONDS)
        with self._lock:
            widget = live(self.panel.box, self.panel.title)
            self.places.show(place, widget, self._table(), self._picture(), ended=self.settled, update=update)
            if not ended:
                self._outlived.add(place)

    def settle(self) -> None:
        """If the runs have ended, fill in the static form, everywhere, before returning."""
        with self._settling:
            if self.settled or self.closed or not self.panel.settle():
                return
            still = self.panel.still()
            with self._lock:
                self._still = still
                unseen = set() if self.panel.audience.ever else self._outlived.intersection(self.places)
                for place in unseen:
                    publish(NOTHING, place.live, update=True)
                self.places.update(caption=self._table(), picture=self._picture(), ended=True)
            self._filled.set()
        if unseen == set(self.places):
            self.close()
        _make_room()

    def refresh(self) -> None:
        """Display the static form once more, everywhere."""
        with self._lock:
            self.places.update(caption=self._table(), picture=self._picture(), ended=self.settled)

    def remove(self) -> None:
        """Have the static form say that the runs were removed, and close the widgets if none is left."""
        if not self.settled:
            return
        with self._settling:
            self.panel.start()
            still = self.panel.still()
            with self._lock:
                self._still = still
        self.refresh()
        if not any(path.exists() for path in self._key[0]):
            self.close()

    def unshown(self) -> None:
        """No place is left on the page: the runs go on, the widgets do not."""
        with _shown_lock:
            if self.places or _shown.get(self._key) is not self:
                return
            del _shown[self._key]
        self.close()

    def close(self) -> None:
        """Take the widgets back: the page shows the static form in their place."""
        with self._lock:
            self.panel.close()

    def _settle_aside(self) -> None:
        # Reading the rest and drawing take a while: the user's cell and other panels go on meanwhile.
        aside(self.settle)

    def _table(self) -> Bundle:
        title = self.panel.title
        if self._still is None:
            doing = "being read" if self.panel.finished else "running"
            text = f"still {doing} when this notebook was saved; {self.panel.again}"
            return caption(title, f" · {escape(text)}", f"{title}: {text}")
        return caption(title, self._still[0])

    def _picture(self) -> Bundle:
        return picture(self._still and self._still[1], f"{self.panel.title}: chart")


_shown: OrderedDict[Key, Shown] = OrderedDict()
_shown_lock = threading.Lock()


def show_runs(
    runs: Sequence[Run],
    *,
    alone: bool,
    metric: str | None = None,
    interval: bool = False,
    place: Place | None = None,
) -> None:
    """Show the panel of these runs here; the same panel as before if it was shown already in this kernel.

    ``place``: show it there, where a former kernel has shown it.
    """
    paths = tuple(run.path for run in runs)
    shows = described("runs", paths, alone=alone, metric=metric, interval=interval)
    show_panel(
        (paths, alone, metric, interval),
        lambda: Panel(runs, alone=alone, metric=metric, interval=interval),
        shows,
        place,
    )


def show_panel(
    key: Key,
    make: Callable[[], Showable],
    shows: dict[str, Any] | None,
    place: Place | None,
    *,
    again: bool = False,
) -> None:
    """Show the panel of this key here: the one of before, if there is any, else what ``make`` makes.

    ``shows`` is what a later kernel makes it of, and ``place`` where a former one has shown it.
    ``again``: what it shows has not ended, so one that is settled is of before it was resumed.
    """
    with _shown_lock:
        shown = _shown.pop(key, None)
        if shown is None or shown.closed or (again and shown.settled):
            shown = Shown(make(), key, shows)
        _shown[key] = shown
        added = shown.places.add(place)
    _make_room()
    shown.show(added, update=place is not None)


def _make_room() -> None:
    """Close the panels of ended runs that are too many, those shown first."""
    with _shown_lock:
        settled = [key for key in _shown if _shown[key].settled]
        given_up = [_shown.pop(key) for key in settled[: max(0, len(_shown) - MOST_PANELS)]]
    for shown in given_up:
        shown.close()


_ended: set[tuple[Path, int]] = set()
"""Folders of runs whose end the running cell has waited for, with the cell's number."""


def ended_here(runs: Run | RunGroup) -> bool:
    """If the running cell has waited for the end of these runs and panels show them: say so in a line."""
    several = [runs] if isinstance(runs, Run) else list(runs)
    shown = [_concerned(run) for run in several]
    if not all(shown) or any((run.path, _cell()) not in _ended for run in several):
        return False
    what = runs.label if isinstance(runs, Run) else runs.name or f"{len(several)} runs"
    states = Counter(run.state for run in several)
    how = ", ".join(f"{count} {state}" if len(several) > 1 else state for state, count in states.items())
    cells = sorted({panel.cell for panels in shown for panel in panels})
    elsewhere = f"in the output of cell [{cells[-1]}]" if cells[-1] else "where it was before the restart"
    where = "above" if cells == [_cell()] else elsewhere
    publish({"text/plain": f"{what}: {how}; its panel is {where}"}, new_id(), update=False)
    return True


def _cell() -> int:
    """The number of the cell that runs; 0 outside a notebook."""
    from IPython.core.getipython import get_ipython

    # Not execution_count: some versions of IPython count before the cell runs, others after it.
    history = getattr(get_ipython(), "history_manager", None)
    return len(history.input_hist_raw) - 1 if history is not None else 0


def settle(run: Run) -> None:
    """Fill in the static form of every panel that shows ``run``, if its runs have ended."""
    global _ended
    _ended = {(path, cell) for path, cell in _ended if cell == _cell()} | {(run.path, _cell())}
    for shown in _concerned(run):
        shown.settle()


def removed(run: Run) -> None:
    """Have every panel that shows ``run`` say that it was removed."""
    concerned = _concerned(run)
    for shown in concerned:
        shown.remove()
    with _shown_lock:
        for key in [key for key, shown in _shown.items() if shown in concerned and shown.closed]:
            del _shown[key]


def _concerned(run: Run) -> list[Shown]:
    with _shown_lock:
        return [shown for key, shown in _shown.items() if run.path in key[0]]
