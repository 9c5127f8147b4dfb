"""Who looks at a panel, and how often it is therefore worth drawing.

What crosses this boundary: the page's words (``presence``) in, seconds between updates out. Every view says
when it appears and vanishes, and sends a sign of life every 15 seconds. A page that dies says nothing, and
its server keeps every message for its return: so updates become rarer with the silence, and their number is
bounded by its logarithm.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

FASTEST_SECONDS = 0.2
UNSEEN_SECONDS = 1.0
"""Between updates until a first view has spoken: there may be no browser at all."""
PATIENCE_SECONDS = 40.0
"""Silence that needs no explanation: two signs of life and a little."""
MOST_VIEWS = 16


class Audience:
    """The views of one panel. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._born = clock()
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}
        self._heard: dict[str, int] = {}
        self.ever = False
        """A browser has shown the panel at least once."""

    def hear(self, presence: Iterable[Sequence[Any]]) -> bool:
        """Take in the page's last words, each ``[view, number, visible]``. True: a view has just appeared.

        Words that were heard before, told by a view's rising numbers, count no second time.
        """
        appeared = False
        with self._lock:
            for view, number, visible in presence:
                if number <= self._heard.get(view, -1):
                    continue
                self._heard.pop(view, None)
                self._heard[view] = number
                self.ever = True
                known = self._seen.pop(view, None) is not None
                if visible:
                    self._seen[view] = self._clock()
                    appeared = appeared or not known
            for names in (self._heard, self._seen):
                while len(names) > MOST_VIEWS:
                    del names[next(iter(names))]
        return appeared

    def interval(self) -> float:
        """Seconds from one update to the next; infinite while every view is out of sight."""
        with self._lock:
            if not self.ever:
                return UNSEEN_SECONDS + self._excess(self._born)
            if not self._seen:
                return math.inf
            return FASTEST_SECONDS + self._excess(max(self._seen.values()))

    def _excess(self, last: float) -> float:
        silence = self._clock() - last
        return silence / 5 if silence > PATIENCE_SECONDS else 0.0
