"""One background thread for slow work without a waiting caller, such as drawing static forms.

Actions run one after another, because the memory that many short-lived threads allocate for pictures stays
with the process and grows with their number.
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
