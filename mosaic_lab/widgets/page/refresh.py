"""The refresh scheduler: one thread that updates all live panels, each at a rate that depends on its
visibility.

A panel is refreshed soon after a change (`RefreshScheduler.notify`), as often as its interval allows, and at
least once a second, to update its clock and to notice an end.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from functools import cache
from typing import Protocol

IDLE_SECONDS = 1.0
"""Maximum interval between two refreshes of a panel."""

logger = logging.getLogger(__name__)


class Refreshable(Protocol):
    """An object that the scheduler keeps up to date."""

    def interval(self) -> float:
        """Return the minimum seconds between two drawings; infinite while no view is visible."""

    def refresh(self, *, draw: bool) -> None:
        """Process changes and, if ``draw`` (the interval has passed), update the page."""


class _Schedule:
    def __init__(self) -> None:
        self.notified = True
        self.failed = False
        self.refreshed_at = self.drawn_at = -math.inf

    def due_at(self, interval: float) -> float:
        return self.refreshed_at + (min(interval, IDLE_SECONDS) if self.notified else IDLE_SECONDS)

    def begin(self, now: float, interval: float) -> bool:
        """Record the start of a refresh; return whether it draws."""
        draw = interval < math.inf and now - self.drawn_at >= interval
        self.notified, self.refreshed_at = False, now
        self.drawn_at = now if draw else self.drawn_at
        return draw


class RefreshScheduler:
    """Refreshes panels on its own thread. `refresh_scheduler` returns the process's instance."""

    def __init__(self) -> None:
        self._schedules: dict[Refreshable, _Schedule] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, panel: Refreshable) -> None:
        """Refresh a panel until it is removed."""
        with self._changed:
            self._schedules.setdefault(panel, _Schedule())
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mosaic-refresh", daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, panel: Refreshable) -> None:
        """Stop refreshing a panel."""
        with self._changed:
            self._schedules.pop(panel, None)

    def notify(self, panel: Refreshable) -> None:
        """Refresh a panel soon, after a change of its content or visibility."""
        with self._changed:
            schedule = self._schedules.get(panel)
            if schedule is not None and not schedule.notified:
                schedule.notified = True
                self._changed.notify()

    def _run(self) -> None:
        while True:
            for panel, schedule, draw in self._due():
                try:
                    panel.refresh(draw=draw)
                except Exception:
                    if not schedule.failed:
                        schedule.failed = True
                        logger.exception("A panel could not be refreshed; trying again.")

    def _due(self) -> list[tuple[Refreshable, _Schedule, bool]]:
        """Wait until panels are due; return them with whether they draw."""
        with self._changed:
            while True:
                now = time.monotonic()
                intervals = {panel: panel.interval() for panel in self._schedules}
                waits = {panel: self._schedules[panel].due_at(intervals[panel]) - now for panel in intervals}
                if due := [panel for panel, wait in waits.items() if wait <= 0]:
                    schedules = [(panel, self._schedules[panel]) for panel in due]
                    return [
                        (panel, schedule, schedule.begin(now, intervals[panel]))
                        for panel, schedule in schedules
                    ]
                self._changed.wait(min(waits.values(), default=None))


@cache
def refresh_scheduler() -> RefreshScheduler:
    """Return the refresh scheduler of this process."""
    return RefreshScheduler()
