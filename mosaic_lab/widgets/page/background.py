"""Slow work in other threads: drawing static forms, and reading the content of panels.

Actions without a waiting caller run one after another on one thread: memory allocated for pictures by many
short-lived threads stays with the process, and grows with their number.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from queue import SimpleQueue

logger = logging.getLogger(__name__)

_actions: SimpleQueue[Callable[[], object]] = SimpleQueue()
_lock = threading.Lock()
_thread: threading.Thread | None = None


def in_background(action: Callable[[], object]) -> None:
    """Call ``action`` soon, on the background thread."""
    global _thread
    with _lock:
        if _thread is None:
            _thread = threading.Thread(target=_run, name="mosaic-background", daemon=True)
            _thread.start()
    _actions.put(action)


def _run() -> None:
    while True:
        action = _actions.get()
        try:
            action()
        except Exception:
            logger.exception("An action in the background failed; the others continue.")
        del action  # frees the objects that it references before the next action arrives


class PanelReader(ABC):
    """Reads the content of a panel in its own thread, at most one reading at a time.

    ``news`` is called after each reading, ``what`` names the content in the log.
    """

    RETRY_SECONDS = 1.0
    """Seconds between a failed reading and the next attempt."""

    def __init__(self, what: str, news: Callable[[], None]) -> None:
        self._what = what
        self._news = news
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._read_at = 0.0

    @abstractmethod
    def read_due(self) -> None:
        """Read what is due now, and set ``_read_at``, the time of the next reading."""

    def read_in_background(self) -> None:
        """Start a reading, unless one is running or it is too early."""
        under_way = self._thread is not None and self._thread.is_alive()
        if not under_way and time.monotonic() >= self._read_at:
            self._thread = threading.Thread(target=self._try, name="mosaic-panel-reader", daemon=True)
            self._thread.start()

    def _try(self) -> None:
        try:
            self.read_due()
        except Exception:
            self._read_at = time.monotonic() + self.RETRY_SECONDS
            logger.exception("%s could not be read.", self._what)
        self._news()


def due_again(began: float, share: float, least: float = 0.0, most: float = math.inf) -> float:
    """Return when to repeat work that began at this time and ends now, so that it takes at most this share of
    the time. The pause is at least ``least`` and at most ``most`` seconds."""
    now = time.monotonic()
    return now + min(most, max(least, (now - began) / share))
