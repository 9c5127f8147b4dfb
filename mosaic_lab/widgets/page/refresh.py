"""The refresh scheduler: one thread that brings all live panels up to date, each as often as it is looked at.

A panel is refreshed soon after something changed (`RefreshScheduler.notify`), as often as its interval
allows, and once a second anyway, for its clock and to notice an end.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from functools import cache
from typing import Protocol

IDLE_SECONDS = 1.0
"""Between two refreshes of a panel, at most."""

logger = logging.getLogger(__name__)


class Refreshable(Protocol):
    """Something that the scheduler keeps up to date."""

    def interval(self) -> float:
        """Return the seconds from one drawing to the next, at least; infinite while no view is in sight."""

    def refresh(self, *, draw: bool) -> None:
        """Notice what changed, and if ``draw`` (the interval has passed) bring the page up to date."""


class _Schedule:
    def __init__(self) -> None:
        self.notified = True
        self.failed = False
        self.refreshed_at = self.drawn_at = -math.inf

    def due_at(self, interval: float) -> float:
        return self.refreshed_at + (min(interval, IDLE_SECONDS) if self.notified else IDLE_SECONDS)

    def begin(self, now: float, interval: float) -> bool:
        """Note a refresh that begins now; return whether it draws."""
        draw = interval < math.inf and now - self.drawn_at >= interval
        self.notified, self.refreshed_at = False, now
        self.drawn_at = now if draw else self.drawn_at
        return draw


class RefreshScheduler:
    """Refreshes panels on a thread of its own. `refresh_scheduler` returns the one of this process."""

    def __init__(self) -> None:
        self._schedules: dict[Refreshable, _Schedule] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, panel: Refreshable) -> None:
        """Refresh a panel from now on, until it is removed."""
        with self._changed:
            self._schedules.setdefault(panel, _Schedule())
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mosaic-refresh", daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, panel: Refreshable) -> None:
        """Refresh a panel no longer."""
        with self._changed:
            self._schedules.pop(panel, None)

    def notify(self, panel: Refreshable) -> None:
        """Refresh a panel soon: something that it shows, or its visibility, has changed."""
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
                        logger.exception("A panel could not be refreshed; it is tried again.")

    def _due(self) -> list[tuple[Refreshable, _Schedule, bool]]:
        """Wait until panels are due; return them with whether they draw."""
        with self._changed:
            while True:
                now = time.monotonic()
                intervals = {panel: panel.interval() for panel in self._schedules}
                waits = {panel: self._schedules[panel].due_at(intervals[panel]) - now for panel in intervals}
                if due := [panel for panel, wait in waits.items() if wait <= 0]:
                    schedules = [(panel, self._schedules[panel]) for panel in due]
                    return [(panel, one, one.begin(now, intervals[panel])) for panel, one in schedules]
                self._changed.wait(min(waits.values(), default=None))


@cache
def refresh_scheduler() -> RefreshScheduler:
    """Return the refresh scheduler of this process."""
    return RefreshScheduler()
