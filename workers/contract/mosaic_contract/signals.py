"""SIGTERM and SIGINT become one `Cancelled` in the main thread; every later signal changes nothing."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from contextlib import contextmanager
from types import FrameType
from typing import Any, Iterator

from mosaic_contract.errors import Cancelled

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_REPEAT_SECONDS = 0.05
_held = False
_set_handler = signal.signal

log = logging.getLogger("mosaic_contract")


def keep_handlers() -> None:
    """Keep this process's handlers of SIGTERM and SIGINT: from now on an environment or a library that
    replaces one, such as a game's window, is left without its own, and logged. Forked children are free.
    """
    own_pid, replaced = os.getpid(), set()

    def keeping(signalnum: int, handler: Any) -> Any:
        kept = signal.getsignal(signalnum)
        if signalnum not in _SIGNALS or handler == kept or os.getpid() != own_pid:
            return _set_handler(signalnum, handler)
        if signalnum not in replaced:
            replaced.add(signalnum)
            caller = sys._getframe(1)
            log.warning(
                "%s is kept for stopping the run: its handler is not replaced by %r (line %d of %s)",
                *(signal.Signals(signalnum).name, handler, caller.f_lineno, caller.f_code.co_filename),
            )
        return kept

    signal.signal = keeping


@contextmanager
def signals_held() -> Iterator[None]:
    """Delay signals until the end of the block, or of an outer one. For work of milliseconds in the main
    thread that must not be interrupted: a library's queue would stay locked for good.
    """
    global _held
    outer, _held = _held, True
    try:
        yield
    finally:
        _held = outer


class CancelOnSignal:
    """Handles both signals for the rest of the process; made in the main thread.

    The first signal interrupts whatever the main thread does, a wait for a subprocess included. `.cancelled`
    is the `Cancelled` that was raised, or None.

    Python alone would lose some signals: one that comes just before a system call blocks waits for the end
    of that call, and an exception raised inside a `__del__` or a C callback is printed and swallowed. So a
    thread repeats the signal to the main thread until it has been handled, and `signals_held` is over.

    A forked child inherits handlers but not the run: there both signals do again what they do by default.
    """

    def __init__(self) -> None:
        self.cancelled: Cancelled | None = None
        self._over = threading.Event()
        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        threading.Thread(
            target=self._repeat_signal, args=(woken,), name="mosaic-signals", daemon=True
        ).start()
        for signum in _SIGNALS:
            _set_handler(signum, self._handle)
        keep_handlers()
        self._forking = threading.local()
        os.register_at_fork(
            before=self._block_signals,
            after_in_parent=self._unblock_signals,
            after_in_child=self._restore_in_child,
        )

    def disarm(self) -> None:
        """Ignore both signals from now on: only the run's last event remains to be written."""
        for signum in _SIGNALS:
            _set_handler(signum, signal.SIG_IGN)
        self._over.set()

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self.cancelled is None and not _held:
            self.cancelled = Cancelled(signum)
            raise self.cancelled

    def _unraisable(self, unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, Cancelled):
            self.cancelled = None
        else:
            self._hook(unraisable)

    def _repeat_signal(self, woken: int) -> None:
        signum = 0
        while signum not in _SIGNALS:  # other handlers' signals are written here too
            signum = os.read(woken, 1)[0]
        while not self._over.wait(_REPEAT_SECONDS):
            if self.cancelled is None:
                signal.pthread_kill(threading.main_thread().ident or 0, signum)

    def _block_signals(self) -> None:
        """Around a fork: a signal to the young child must not be taken for one to its parent."""
        self._forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    def _unblock_signals(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._forking.mask)

    def _restore_in_child(self) -> None:
        signal.set_wakeup_fd(-1)
        for signum in _SIGNALS:
            _set_handler(signum, signal.SIG_DFL)
        self._unblock_signals()
