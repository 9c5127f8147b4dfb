"""The visibility of a panel's views, and the update rate that follows from it.

Every view reports when it appears and vanishes, and sends a heartbeat every 15 seconds. A page that dies
reports nothing, while its server keeps all messages in case it returns. Updates therefore become less
frequent the longer a page is silent, so that their number grows only with the logarithm of the silence.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

FASTEST_SECONDS = 0.2
UNSEEN_SECONDS = 1.0
"""Interval between updates until a view has reported, since there may be no browser."""
MAX_SILENCE_SECONDS = 40.0
"""Longest silence that counts as normal: two heartbeats and a margin."""
MAX_VIEWS = 16


class Visibility:
    """The views of one panel. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._created_at = clock()
        self._lock = threading.Lock()
        self._visible: dict[str, float] = {}
        self._latest: dict[str, int] = {}
        self.ever = False
        """Whether a browser has shown the panel at least once."""

    def update(self, presence: Iterable[Sequence[Any]]) -> bool:
        """Process the page's reports, each ``[view, number, visible]``; return whether a view has appeared. A
        view's numbers increase; reports already processed are ignored."""
        appeared = False
        with self._lock:
            for view, number, visible in presence:
                if number <= self._latest.get(view, -1):
                    continue
                self._latest.pop(view, None)
                self._latest[view] = number
                self.ever = True
                was_visible = self._visible.pop(view, None) is not None
                if visible:
                    self._visible[view] = self._clock()
                    appeared = appeared or not was_visible
            for views in (self._latest, self._visible):
                while len(views) > MAX_VIEWS:
                    del views[next(iter(views))]
        return appeared

    def interval(self) -> float:
        """Return the seconds between two updates; infinite while no view is visible."""
        with self._lock:
            if not self.ever:
                return UNSEEN_SECONDS + self._excess(self._created_at)
            if not self._visible:
                return math.inf
            return FASTEST_SECONDS + self._excess(max(self._visible.values()))

    def _excess(self, last: float) -> float:
        silent_seconds = self._clock() - last
        return silent_seconds / 5 if silent_seconds > MAX_SILENCE_SECONDS else 0.0
