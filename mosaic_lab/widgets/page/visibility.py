"""Which views of a panel are in sight, and how often it is therefore worth drawing.

Every view reports when it appears and vanishes, and sends a sign of life every 15 seconds. A page that dies
reports nothing, and its server keeps every message for its return: so updates become rarer with the silence,
and their number is bounded by its logarithm.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

FASTEST_SECONDS = 0.2
UNSEEN_SECONDS = 1.0
"""Between updates until a first view has reported: there may be no browser at all."""
PATIENCE_SECONDS = 40.0
"""Silence that is normal: two signs of life and a little more."""
MOST_VIEWS = 16


class Visibility:
    """The views of one panel. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._created_at = clock()
        self._lock = threading.Lock()
        self._visible: dict[str, float] = {}
        self._latest: dict[str, int] = {}
        self.ever = False
        """A browser has shown the panel at least once."""

    def update(self, presence: Iterable[Sequence[Any]]) -> bool:
        """Take in the page's reports, each ``[view, number, visible]``; return whether a view has appeared.

        A view's numbers rise: a report that was taken in before does not count again.
        """
        appeared = False
        with self._lock:
            for view, number, visible in presence:
                if number <= self._latest.get(view, -1):
                    continue
                self._latest.pop(view, None)
                self._latest[view] = number
                self.ever = True
                known = self._visible.pop(view, None) is not None
                if visible:
                    self._visible[view] = self._clock()
                    appeared = appeared or not known
            for views in (self._latest, self._visible):
                while len(views) > MOST_VIEWS:
                    del views[next(iter(views))]
        return appeared

    def interval(self) -> float:
        """Return the seconds from one update to the next; infinite while every view is out of sight."""
        with self._lock:
            if not self.ever:
                return UNSEEN_SECONDS + self._excess(self._created_at)
            if not self._visible:
                return math.inf
            return FASTEST_SECONDS + self._excess(max(self._visible.values()))

    def _excess(self, last: float) -> float:
        silence = self._clock() - last
        return silence / 5 if silence > PATIENCE_SECONDS else 0.0
