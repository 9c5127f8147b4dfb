"""One thread that brings all live panels up to date, each at its own pace.

What crosses this boundary: panels in; their ``tick()`` is called on the pump's thread when they are due. A
panel is due when something changed (``wake``) and its interval has passed, and once a second anyway, for its
clock.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import cache
from typing import Protocol

IDLE_SECONDS = 1.0

logger = logging.getLogger(__name__)


class Pumped(Protocol):
    """What the pump asks of a panel."""

    def tick(self) -> None: ...

    def pace(self) -> float:
        """Seconds that must lie between two ticks when there is news; at most ``IDLE_SECONDS``."""


class _Turn:
    def __init__(self) -> None:
        self.news = True
        self.at = float("-inf")
        self.failed = False

    def due(self, pace: float) -> float:
        return self.at + (pace if self.news else IDLE_SECONDS)


class Pump:
    """The pump of this process is `pump()`."""

    def __init__(self) -> None:
        self._turns: dict[Pumped, _Turn] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, panel: Pumped) -> None:
        with self._changed:
            self._turns.setdefault(panel, _Turn())
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mosaic-panels", daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, panel: Pumped) -> None:
        with self._changed:
            self._turns.pop(panel, None)

    def wake(self, panel: Pumped) -> None:
        """Something about the panel changed."""
        with self._changed:
            turn = self._turns.get(panel)
            if turn is not None and not turn.news:
                turn.news = True
                self._changed.notify()

    def _run(self) -> None:
        while True:
            for panel, turn in self._next():
                try:
                    panel.tick()
                except Exception:
                    if not turn.failed:
                        turn.failed = True
                        logger.exception("A panel could not be brought up to date; it is tried again.")

    def _next(self) -> list[tuple[Pumped, _Turn]]:
        """Wait until panels are due; take their turns."""
        with self._changed:
            while True:
                now = time.monotonic()
                waits = {panel: turn.due(panel.pace()) - now for panel, turn in self._turns.items()}
                due = [(panel, self._turns[panel]) for panel, wait in waits.items() if wait <= 0]
                if due:
                    break
                self._changed.wait(min(waits.values(), default=None))
            for _, turn in due:
                turn.news, turn.at = False, now
            return due


@cache
def pump() -> Pump:
    """The pump of this process."""
    return Pump()
