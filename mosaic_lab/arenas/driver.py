"""The thread of a comparison: waits for the arenas of all lanes, executes commands and reports changes.

Commands may be posted from any thread; changes are reported to subscribers. The thread never blocks, neither
on an arena nor on a human player.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from mosaic_lab.arenas.arena_client import LOOK_SECONDS, ArenaLoop
from mosaic_lab.arenas.arena_process import CLOSE_SECONDS
from mosaic_lab.arenas.lockstep import Lockstep
from mosaic_lab.errors import MosaicError, RunTimeout

CHANGE_SECONDS = 1 / 30
"""Minimum seconds between two reports of changes."""
_EXIT_SECONDS = CLOSE_SECONDS + 6.0  # for all lanes to end at interpreter exit
_log = logging.getLogger(__name__)
_drivers: WeakSet[Driver] = WeakSet()


class Command:
    """An action for the driver's thread, with its completion condition."""

    def __init__(self, begin: Callable[[], Any], done: Callable[[], bool]) -> None:
        self.begin = begin
        self.done = done
        self.result: Any = None
        self.error: Exception | None = None
        # A bare lock, not an Event: interrupting the wait leaves no lock held.
        self._latch = threading.Lock()
        self._latch.acquire()

    def finish(self, error: Exception | None = None) -> None:
        self.error = error
        self._latch.release()

    def wait(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds; return whether the command is done."""
        return self._latch.acquire(timeout=timeout)


class Driver:
    """The driver of a comparison, whose arenas are opened in ``loop``.

    ``lock`` is held during all changes to lanes; hold it for consistent reads.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._lockstep: Lockstep
        self._inbox: deque[Command | Callable[[], None]] = deque()
        self._pending: list[Command] = []
        self._listeners: list[Callable[[], None]] = []
        self._awake, self._bell = os.pipe()
        self._bell_lock = threading.RLock()  # re-entrant: a finalizer may ring during a ring
        os.set_blocking(self._awake, False)
        os.set_blocking(self._bell, False)
        self.loop = ArenaLoop(self._awake)
        self._changed = False
        self._reported_at = self._looked_at = 0.0
        self._over = False
        self.pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="mosaic-comparison", daemon=True)

    def start(self, lockstep: Lockstep) -> None:
        """Start driving the lanes."""
        self._lockstep = lockstep
        _drivers.add(self)
        self._thread.start()

    # ------------------------------------------------------- from other threads

    def post(self, action: Callable[[], None] | Command) -> None:
        """Schedule ``action`` in the driver's thread."""
        self._inbox.append(action)
        with self._bell_lock, suppress(BlockingIOError):  # a full pipe has woken it already
            if not self._over:
                os.write(self._bell, b"!")

    def call(
        self, begin: Callable[[], Any], done: Callable[[], bool] | None, timeout: float, what: str
    ) -> Any:
        """Execute a command in the driver's thread and wait until it is done. ``timeout`` 0 does not wait.

        Raises what ``begin`` raises, RunTimeout, and MosaicError if the comparison has ended.
        """
        command = Command(begin, done if done and timeout > 0 else lambda: True)
        alone = threading.current_thread() is self._thread  # a listener must not wait for its own thread
        if self._over:
            raise MosaicError(f"{what}: this comparison was ended")
        self.post(command)
        if alone:
            return None
        deadline = time.monotonic() + (timeout if timeout > 0 else _EXIT_SECONDS)
        while not command.wait(min(LOOK_SECONDS, max(0.0, deadline - time.monotonic()))):
            if not self._thread.is_alive() and not command.wait(0):
                raise MosaicError(f"{what}: this comparison was ended")
            if time.monotonic() >= deadline:
                raise RunTimeout(
                    f"{what} did not finish within {timeout:g} s{self._waiting_for()}; it is still running"
                )
        if command.error is not None:
            raise command.error
        return command.result

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` in the driver's thread after changes. Returns a function that unsubscribes it."""
        self._listeners = [*self._listeners, callback]

        def unsubscribe() -> None:
            self._listeners = [listener for listener in self._listeners if listener is not callback]

        return unsubscribe

    def close(self, timeout: float) -> None:
        """End all lanes and the thread. Raises RunTimeout if they do not end in time."""
        if not self._over:
            self.call(self._lockstep.close, lambda: not self.loop.arenas, timeout, "ending the comparison")

    def abandon(self) -> None:
        """Schedule the end of all lanes, after the comparison was garbage-collected."""
        self.post(self._lockstep.close)

    def _waiting_for(self) -> str:
        with self.lock:
            waits = [lane.label for lane in self._lockstep.lanes if lane.busy]
        return f" (waiting for {', '.join(waits)})" if waits else ""

    # ------------------------------------------------------------- the thread

    def _run(self) -> None:
        timeout = 0.0
        try:
            while not self._over:
                ready = self.loop.wait(timeout)
                with self.lock:
                    timeout = self._work(ready)
                timeout = self._report(timeout)
        except Exception:
            _log.exception("the thread of a comparison failed; its lanes have been ended")
            self._lockstep.close()
        finally:
            self._finish()

    def _work(self, ready: list[int]) -> float:
        """Do all due work. Return the seconds until more is due if no message arrives."""
        self._changed = self.loop.work(ready) or self._changed
        if self._awake in ready:
            with suppress(BlockingIOError):
                os.read(self._awake, 1 << 12)
        while self._inbox:
            self._begin(self._inbox.popleft())
        now = time.monotonic()
        if now - self._looked_at >= LOOK_SECONDS:  # a slow step is reported while it lasts
            self._looked_at = now
            self._changed = self._changed or any(lane.moving for lane in self._lockstep.lanes)
        due = self._lockstep.advance(now)
        self._pending = [command for command in self._pending if not self._is_done(command)]
        self._over = self._lockstep.closed and not self.loop.arenas and not self._pending
        return LOOK_SECONDS if due is None else min(LOOK_SECONDS, due - now)

    def _begin(self, action: Command | Callable[[], None]) -> None:
        self._changed = True
        if not isinstance(action, Command):
            action()
            return
        if self._lockstep.closed and action.begin != self._lockstep.close:
            action.finish(MosaicError("this comparison was ended"))
            return
        try:
            action.result = action.begin()
        except Exception as error:
            action.finish(error)
        else:
            self._pending.append(action)

    def _is_done(self, command: Command) -> bool:
        if command.done():
            command.finish()
            return True
        if self._lockstep.closed and command.begin != self._lockstep.close:
            command.finish(MosaicError("this comparison was ended"))
            return True
        return False

    def _report(self, timeout: float) -> float:
        """Report changes to listeners if due, without holding the lock, so that listeners may acquire it."""
        if not self._changed:
            return timeout
        now = time.monotonic()
        if now - self._reported_at < CHANGE_SECONDS and not self._over:
            return min(timeout, self._reported_at + CHANGE_SECONDS - now)
        self._changed, self._reported_at = False, now
        for listener in self._listeners:
            try:
                listener()
            except Exception:
                _log.exception("a listener of a comparison failed")
        return timeout

    def _finish(self) -> None:
        with self._bell_lock:  # its descriptor may be reused from now on
            self._over = True
            os.close(self._awake)
            os.close(self._bell)
        error = MosaicError("this comparison was ended")
        for command in [*self._pending, *self._inbox]:
            if isinstance(command, Command):
                command.finish(error)


@atexit.register
def _end_all() -> None:
    """End all arenas at interpreter exit. If the interpreter is killed, arenas notice it themselves."""
    drivers = [driver for driver in _drivers if driver.pid == os.getpid()]  # none in a forked process
    for driver in drivers:
        with suppress(Exception):
            driver.abandon()
    for driver in drivers:
        with suppress(Exception):
            driver.close(_EXIT_SECONDS)
