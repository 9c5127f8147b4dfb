"""Poll a run store for changes, but only while a page waits for them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mosaic_lab.overview.service import Service

logger = logging.getLogger(__name__)

SHORTEST_WAIT, LONGEST_WAIT = 0.4, 0.8
"""Limits on the seconds between two polls, which grow while nothing changes. The end of a run is noticed
within a second."""

Changes = dict[str, Any]


@dataclass(eq=False)
class _Waiting:
    version: int
    send: Callable[[Changes], object]
    deadline: float | None
    is_wanted: Callable[[], bool]


class ChangeWatcher:
    """The changes of one store, for any number of subscribers. One thread serves them and ends with the
    last."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: list[_Waiting] = []
        self._woken = threading.Condition()
        self._thread: threading.Thread | None = None

    def subscribe(
        self, version: int, send: Callable[[Changes], object], is_wanted: Callable[[], bool]
    ) -> Callable[[], None]:
        """Call ``send`` with the changes since ``version``, then with each further change.

        The subscription continues while ``is_wanted``, called at every poll, returns True, and ends if
        ``send`` raises. Both are called on the watcher's thread. Returns a function that ends the
        subscription.
        """
        return self._add(_Waiting(version, send, None, is_wanted))

    def poll(self, version: int, seconds: float, send: Callable[[Changes], object]) -> Callable[[], None]:
        """Call ``send`` once: when something has changed since ``version``, or after ``seconds``.

        Returns a function that ends the wait.
        """
        return self._add(_Waiting(version, send, time.monotonic() + seconds, lambda: True))

    @property
    def watching(self) -> bool:
        """Whether the store is being polled because a page waits for changes."""
        return self._thread is not None

    def _add(self, waiting: _Waiting) -> Callable[[], None]:
        with self._woken:
            self._waiting.append(waiting)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="mosaic-changes", daemon=True)
                self._thread.start()
            self._woken.notify()
        return lambda: self._end(waiting)

    def _end(self, waiting: _Waiting) -> None:
        with self._woken:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                self._woken.notify()

    def _watch(self) -> None:
        wait = SHORTEST_WAIT
        while True:
            with self._woken:
                waiting = list(self._waiting)
                if not waiting:
                    self._thread = None
                    return
            wait = SHORTEST_WAIT if self._poll_store(waiting) else min(wait * 1.25, LONGEST_WAIT)
            with self._woken:
                if self._waiting == waiting:  # a new subscriber is answered at once
                    self._woken.wait(wait)

    def _poll_store(self, waiting: list[_Waiting]) -> bool:
        """Poll the store once, send the changes, and return whether there were any."""
        changes_by_version: dict[int, Changes] = {}
        now = time.monotonic()
        for subscriber in waiting:
            if not subscriber.is_wanted():
                self._end(subscriber)
                continue
            try:
                if subscriber.version not in changes_by_version:
                    changes_by_version[subscriber.version] = self._service.answer(
                        "changes", {"version": subscriber.version}
                    )[0]
            except Exception:
                # A store that cannot be read now, such as on a network share, may be readable at the next
                # poll.
                logger.debug("The run store could not be read.", exc_info=True)
                continue
            changes = changes_by_version[subscriber.version]
            changed = changes["version"] != subscriber.version
            if changed or (subscriber.deadline is not None and now >= subscriber.deadline):
                self._send(subscriber, changes)
        return any(changes["version"] != version for version, changes in changes_by_version.items())

    def _send(self, subscriber: _Waiting, changes: Changes) -> None:
        subscriber.version = changes["version"]
        if subscriber.deadline is not None:
            self._end(subscriber)
        try:
            subscriber.send(changes)
        except Exception:
            logger.debug("Changes could not be sent.", exc_info=True)
            self._end(subscriber)
