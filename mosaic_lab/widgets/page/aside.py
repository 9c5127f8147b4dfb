"""One thread for what takes a while and nobody waits for, such as drawing static forms.

What crosses this boundary: actions in. They are done one after the other: what each of many short-lived
threads allocates for a picture stays with the process, and grows with their number.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

logger = logging.getLogger(__name__)

_actions: SimpleQueue[Callable[[], object]] = SimpleQueue()
_lock = threading.Lock()
_thread: threading.Thread | None = None


def aside(action: Callable[[], object]) -> None:
    """Have this done soon, on the thread of this module."""
    global _thread
    with _lock:
        if _thread is None:
            _thread = threading.Thread(target=_run, name="mosaic-aside", daemon=True)
            _thread.start()
    _actions.put(action)


def _run() -> None:
    while True:
        action = _actions.get()
        try:
            action()
        except Exception:
            logger.exception("Something could not be done aside; the rest goes on.")
        del action  # or what it holds would live on until the next one comes
