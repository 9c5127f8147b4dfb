"""Looks for changes in a run store while a page waits for them, and at no other time."""

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
"""Seconds between two looks: the longer nothing has changed, the longer. An end is known in a second."""

Changes = dict[str, Any]


@dataclass(eq=False)
class _Waiting:
    version: int
    send: Callable[[Changes], object]
    until: float | None
    wanted: Callable[[], bool]


class ChangeWatcher:
    """The changes of one store, for any number of subscribers, from one thread that ends with the last."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: list[_Waiting] = []
        self._woken = threading.Condition()
        self._thread: threading.Thread | None = None

    def subscribe(
        self, version: int, send: Callable[[Changes], object], wanted: Callable[[], bool]
    ) -> Callable[[], None]:
        """Have ``send`` called with what has changed since ``version``, then with each change.

        It continues while ``wanted``, which is called at every look, and ends with an exception of ``send``.
        Both are called on the watcher's thread. Returns the function that ends it.
        """
        return self._add(_Waiting(version, send, None, wanted))

    def poll(self, version: int, seconds: float, send: Callable[[Changes], object]) -> Callable[[], None]:
        """Have ``send`` called once: when something has changed since ``version``, or after ``seconds``.

        Returns the function that ends the wait.
        """
        return self._add(_Waiting(version, send, time.monotonic() + seconds, lambda: True))

    @property
    def watching(self) -> bool:
        """Whether the store is looked at: a page waits for changes."""
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
            wait = SHORTEST_WAIT if self._look(waiting) else min(wait * 1.25, LONGEST_WAIT)
            with self._woken:
                if self._waiting == waiting:  # a new one is answered at once
                    self._woken.wait(wait)

    def _look(self, waiting: list[_Waiting]) -> bool:
        """Look at the store once, send what has changed, and return whether anything has."""
        found: dict[int, Changes] = {}
        now = time.monotonic()
        for one in waiting:
            if not one.wanted():
                self._end(one)
                continue
            try:
                if one.version not in found:
                    found[one.version] = self._service.answer("changes", {"version": one.version})[0]
            except Exception:
                # A store that cannot be read now (a network share, say) may be readable at the next look.
                logger.debug("The run store could not be read.", exc_info=True)
                continue
            changes = found[one.version]
            changed = changes["version"] != one.version
            if changed or (one.until is not None and now >= one.until):
                self._send(one, changes)
        return any(changes["version"] != version for version, changes in found.items())

    def _send(self, one: _Waiting, changes: Changes) -> None:
        one.version = changes["version"]
        if one.until is not None:
            self._end(one)
        try:
            one.send(changes)
        except Exception:
            logger.debug("Changes could not be sent.", exc_info=True)
            self._end(one)
