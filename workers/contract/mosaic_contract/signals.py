"""Conversion of SIGTERM and SIGINT to one `Cancelled` in the main thread; later signals have no effect."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from types import FrameType
from typing import Any, Callable

from mosaic_contract.errors import Cancelled

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_REPEAT_SECONDS = 0.05
_held = 0  # blocks of `signals_held`
_set_handler = signal.signal

log = logging.getLogger("mosaic_contract")


def keep_handlers() -> None:
    """Protect this process's handlers of SIGTERM and SIGINT. An environment or a library that sets its own,
    such as a game's window, does so without effect, which is logged. Forked children are not affected."""
    own_pid, replaced = os.getpid(), set()

    def keeping(signalnum: int, handler: Any) -> Any:
        own_handler = signal.getsignal(signalnum)
        if signalnum not in _SIGNALS or handler == own_handler or os.getpid() != own_pid:
            return _set_handler(signalnum, handler)
        if signalnum not in replaced:
            replaced.add(signalnum)
            caller = sys._getframe(1)
            log.warning(
                "%s is kept for stopping the run: its handler is not replaced by %r (line %d of %s)",
                *(signal.Signals(signalnum).name, handler, caller.f_lineno, caller.f_code.co_filename),
            )
        return own_handler

    signal.signal = keeping


class _SignalsHeld:
    def __enter__(self) -> None:
        global _held
        _held += 1

    def __exit__(self, *_: object) -> None:
        global _held
        _held -= 1


_SIGNALS_HELD = _SignalsHeld()


def signals_held() -> _SignalsHeld:
    """Delay signals until the end of the outermost such block. For short work (milliseconds) in the main
    thread that must not be interrupted, because a library's queue would remain locked."""
    return _SIGNALS_HELD


class CancelOnSignal:
    """The handler of both signals for the rest of the process, created in the main thread.

    The first signal interrupts any operation of the main thread, including a wait for a subprocess.
    `.cancelled` is the raised `Cancelled`, or None.

    Python alone would lose some signals: a signal just before a system call blocks is handled only after that
    call, and an exception raised inside a `__del__` or a C callback is printed and swallowed. Therefore a
    thread repeats the signal to the main thread until it has been handled and `signals_held` has ended.

    A forked child inherits the handlers but not the run; in it both signals have their default effect.
    """

    def __init__(self) -> None:
        self.cancelled: Cancelled | None = None
        self._disarmed = threading.Event()
        self._previous_hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        wake_reader, wake_writer = os.pipe()
        os.set_blocking(wake_writer, False)
        signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
        threading.Thread(
            target=self._repeat_signal, args=(wake_reader,), name="mosaic-signals", daemon=True
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

    def run(self, work: Callable[[], None]) -> BaseException | None:
        """Call `work`, then `disarm`. Return the exception that ended it, or None."""
        failure: BaseException | None = None
        try:
            try:
                work()
            except BaseException as error:
                failure = error
            self.disarm()
        except Cancelled:  # the signal arrived between two statements above
            self.disarm()
        return failure

    def disarm(self) -> None:
        """Ignore both signals from now on: only the run's terminal event remains to be written."""
        for signum in _SIGNALS:
            _set_handler(signum, signal.SIG_IGN)
        self._disarmed.set()

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self.cancelled is None and not _held:
            self.cancelled = Cancelled(signum)
            raise self.cancelled

    def _unraisable(self, unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, Cancelled):
            self.cancelled = None
        else:
            self._previous_hook(unraisable)

    def _repeat_signal(self, wake_reader: int) -> None:
        signum = 0
        while signum not in _SIGNALS:  # signals of other handlers are written here too
            signum = os.read(wake_reader, 1)[0]
        while not self._disarmed.wait(_REPEAT_SECONDS):
            if self.cancelled is None:
                signal.pthread_kill(threading.main_thread().ident or 0, signum)

    def _block_signals(self) -> None:
        """Block signals around a fork, so that a signal to the new child is not mistaken for one to its
        parent."""
        self._forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    def _unblock_signals(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._forking.mask)

    def _restore_in_child(self) -> None:
        signal.set_wakeup_fd(-1)
        for signum in _SIGNALS:
            _set_handler(signum, signal.SIG_DFL)
        self._unblock_signals()
