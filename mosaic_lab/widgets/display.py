"""Panels in a notebook's output, live and as the static form that stays when the kernel is gone.

What crosses this boundary: panels of runs in, display messages out. A panel is three outputs in a row (see
``outputs``): the live widget, a table, a picture. The last two are filled in when the runs end. Where no
browser ever showed the widget, its output is emptied in the end.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, Protocol

from mosaic_lab.supervisor import Run, RunGroup
from mosaic_lab.widgets.audience import Audience
from mosaic_lab.widgets.outputs import NOTHING, Bundle, caption, display, live, picture
from mosaic_lab.widgets.panel import Panel

MOST_PANELS = 32
"""Panels kept alive; beyond it those of ended runs, oldest first, give way to their static form."""
MOST_OUTPUTS = 16
"""Places that show the same panel."""
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

    def __init__(self, panel: Showable) -> None:
        self.panel = panel
        self.cell = 0
        """The number of the cell that showed it last."""
        self._outputs: list[tuple[str, ...]] = []
        self._outlived: set[str] = set()  # live outputs that showed a run to its end
        self._still: tuple[str, bytes | None] | None = None
        self._lock = threading.Lock()
        self._settling = threading.Lock()
        self._filled = threading.Event()
        panel.on_ended = self._settle_aside

    @property
    def settled(self) -> bool:
        """Whether the static form is filled in: nothing will change any more."""
        return self._filled.is_set()

    def show(self) -> None:
        """Show the panel here. What takes long to read and to draw is filled in later: this cell goes on."""
        self.panel.start()
        self.cell = _cell()
        ended = self.panel.finished
        if ended and not self.settled:
            self._settle_aside()
            self._filled.wait(MOMENT_SECONDS)
        with self._lock:
            outputs = tuple(
                map(display, (live(self.panel.box, self.panel.title), self._table(), self._picture()))
            )
            self._outputs = [*self._outputs, outputs][-MOST_OUTPUTS:]
            if not ended:
                self._outlived.add(outputs[0])

    def settle(self) -> None:
        """If the runs have ended, fill in the static form, everywhere, before returning."""
        with self._settling:
            if self.settled or not self.panel.settle():
                return
            still = self.panel.still()
            with self._lock:
                self._still = still
                for panel_place, table_place, picture_place in self._outputs:
                    if panel_place in self._outlived and not self.panel.audience.ever:
                        display(NOTHING, panel_place)
                    display(self._table(), table_place)
                    display(self._picture(), picture_place)
            self._filled.set()

    def _settle_aside(self) -> None:
        # Reading the rest and drawing take a while: the user's cell and other panels go on meanwhile.
        threading.Thread(target=self.settle, name="mosaic-still", daemon=True).start()

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


def show_runs(runs: Sequence[Run], *, alone: bool, metric: str | None = None, interval: bool = False) -> None:
    """Show the panel of these runs here; the same panel as before if it was shown already in this kernel."""
    key = (tuple(run.path for run in runs), alone, metric, interval)
    show_panel(key, lambda: Panel(runs, alone=alone, metric=metric, interval=interval))


def show_panel(key: Key, make: Callable[[], Showable], *, again: bool = False) -> None:
    """Show the panel of this key here: the one of before, if there is any, else what ``make`` makes.

    ``again``: what it shows has not ended, so one that is settled is of before it was resumed.
    """
    with _shown_lock:
        shown = _shown.pop(key, None)
        if shown is None or shown.panel.box.comm is None or (again and shown.settled):
            shown = Shown(make())
        _shown[key] = shown
        settled = [old for old in _shown if _shown[old].settled]
        for old in settled[: max(0, len(_shown) - MOST_PANELS)]:
            _shown.pop(old).panel.close()
    shown.show()


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
    where = "above" if cells == [_cell()] else f"in the output of cell [{cells[-1]}]"
    display({"text/plain": f"{what}: {how}; its panel is {where}"})
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


def refresh(run: Run) -> None:
    """Bring every panel that shows ``run``, an ended one, up to date: it was removed."""
    for shown in _concerned(run):
        shown.panel.start()


def _concerned(run: Run) -> list[Shown]:
    with _shown_lock:
        return [shown for key, shown in _shown.items() if run.path in key[0]]
