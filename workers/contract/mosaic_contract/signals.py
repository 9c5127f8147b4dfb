"""SIGTERM and SIGINT become one `Cancelled` in the main thread; every later signal changes nothing."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

from .errors import Cancelled

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class CancelOnSignal:
    """Takes both signals for the rest of the process; made in the main thread.

    The first signal interrupts whatever the main thread does, a wait for a subprocess included. Where Python
    cannot raise (inside a `__del__` or a C callback, which print and swallow the exception), it is delivered
    once more. `.cancelled` is the `Cancelled` that was raised, or None.
    """

    def __init__(self) -> None:
        self.cancelled: Cancelled | None = None
        self._pid = os.getpid()
        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        for signum in _SIGNALS:
            signal.signal(signum, self._handle)

    def disarm(self) -> None:
        """Ignore both signals from here on: the run has ended, only its last event is to be written."""
        for signum in _SIGNALS:
            signal.signal(signum, signal.SIG_IGN)

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if os.getpid() != self._pid:  # a forked child inherits the handler, but not the run
            signal.signal(signum, signal.SIG_DFL)
            os.kill(os.getpid(), signum)
        elif self.cancelled is None:
            self.cancelled = Cancelled(signum)
            raise self.cancelled

    def _unraisable(self, unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, Cancelled):
            signum, self.cancelled = unraisable.exc_value.signal, None
            threading.Timer(0.05, os.kill, (self._pid, signum)).start()
        else:
            self._hook(unraisable)
