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
from collections.abc import Callable, Mapping
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
        self.ever = False
        """A browser has shown the panel at least once."""

    def hear(self, presence: Mapping[str, Any]) -> bool:
        """Take in what a view said, ``{"view": name, "visible": bool}``. True when it has just appeared."""
        view = str(presence.get("view", ""))
        with self._lock:
            self.ever = True
            appeared = self._seen.pop(view, None) is None and bool(presence.get("visible"))
            if presence.get("visible"):
                self._seen[view] = self._clock()
                while len(self._seen) > MOST_VIEWS:
                    del self._seen[next(iter(self._seen))]
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
