"""The thread of a comparison: reads the output of all lanes, executes commands and reports changes.

Commands may be posted from any thread; changes are reported to subscribers. The thread never blocks, neither
on an arena nor on a human player.
"""

from __future__ import annotations

import atexit
import logging
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from mosaic_lab.arenas.arena_process import CLOSE_SECONDS, ArenaProcess
from mosaic_lab.arenas.lane import Lane
from mosaic_lab.arenas.lockstep import Lockstep
from mosaic_lab.errors import MosaicError, RunTimeout

CHANGE_SECONDS = 1 / 30
"""Minimum seconds between two reports of changes."""
_LOOK_SECONDS = 0.5  # between checks of deadlines, and between reports of a slow step
_BUSY_SECONDS = 0.01  # the same while data is unsent or an arena is ending
_EXIT_SECONDS = CLOSE_SECONDS + 6.0  # for all lanes to end at interpreter exit
_log = logging.getLogger(__name__)
_drivers: WeakSet[Driver] = WeakSet()


class Command:
    """An action for the driver's thread, with its completion condition."""

    def __init__(self, begin: Callable[[], Any], done: Callable[[], bool] | None) -> None:
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
    """The driver of a comparison.

    ``lock`` is held during all changes to lanes; hold it for consistent reads.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._lockstep: Lockstep
        self._inbox: deque[Command | Callable[[], None]] = deque()
        self._pending: list[Command] = []
        self._listeners: list[Callable[[], None]] = []
        self._poll = select.poll()
        self._sources: dict[int, tuple[Lane, ArenaProcess]] = {}  # by output descriptor
        self._awake, bell = os.pipe()
        self._bell: int | None = bell
        self._bell_lock = threading.RLock()  # re-entrant: a finalizer may ring during a ring
        os.set_blocking(self._awake, False)
        os.set_blocking(bell, False)
        self._poll.register(self._awake, select.POLLIN)
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
            if self._bell is not None:
                os.write(self._bell, b"!")

    def call(
        self, begin: Callable[[], Any], done: Callable[[], bool] | None, timeout: float, what: str
    ) -> Any:
        """Execute a command in the driver's thread and wait until it is done. ``timeout`` 0 does not wait.

        Raises what ``begin`` raises, RunTimeout, and MosaicError if the comparison has ended.
        """
        command = Command(begin, None if timeout <= 0 else done)
        alone = threading.current_thread() is self._thread  # a listener must not wait for its own thread
        if self._over:
            raise MosaicError(f"{what}: this comparison was ended")
        self.post(command)
        if alone:
            return None
        deadline = time.monotonic() + (timeout if timeout > 0 else _EXIT_SECONDS)
        while not command.wait(min(_LOOK_SECONDS, max(0.0, deadline - time.monotonic()))):
            if not self._thread.is_alive() and not command.wait(0):
                raise MosaicError(f"{what}: this comparison was ended")
            if time.monotonic() >= deadline:
                raise RunTimeout(
                    f"{what} is not done after {timeout:g} s{self._waiting_for()}; it is still running"
                )
        if command.error is not None:
            raise command.error
        return command.result

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` in the driver's thread after changes. Returns a function that unsubscribes it."""
        self._listeners = [*self._listeners, callback]

        def unsubscribe() -> None:
            self._listeners = [one for one in self._listeners if one is not callback]

        return unsubscribe

    def close(self, timeout: float) -> None:
        """End all lanes and the thread. Raises RunTimeout if they do not end in time."""
        if not self._over:
            self.call(self._lockstep.close, self._all_gone, timeout, "ending the comparison")

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
                ready = self._poll.poll(1e3 * timeout)
                with self.lock:
                    for descriptor, _ in ready:
                        self._read(descriptor)
                    timeout = self._work()
                timeout = self._report(timeout)
        except Exception:
            _log.exception("the thread of a comparison has failed: its lanes are ended")
            self._lockstep.close()
        finally:
            self._finish()

    def _read(self, descriptor: int) -> None:
        """Process an arena's output, or discard it if the arena is ending."""
        self._changed = True
        if descriptor == self._awake:
            with suppress(BlockingIOError):
                os.read(descriptor, 1 << 12)
            return
        lane, process = self._sources[descriptor]
        lines = process.read()
        for line in lines or ():
            if lane.process is process:
                lane.receive(line)
        if lane.process is process and (lines is None or process.oversize):
            lane.lost()
        if lines is None:
            self._ignore(descriptor)

    def _work(self) -> float:
        """Perform due work. Return the seconds until more work is due if no message arrives."""
        lockstep, now = self._lockstep, time.monotonic()
        commanded = bool(self._inbox)
        while self._inbox:
            self._begin(self._inbox.popleft())
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            for lane in lockstep.lanes:
                if lane.overdue(now) or lane.moving:
                    self._changed = True
                if lane.process is not None:
                    lane.process.cut_logs()
        wait = _LOOK_SECONDS
        due = lockstep.advance(now)
        if due is not None:
            wait = min(wait, due - now)
        ending = False
        for lane in lockstep.lanes:
            ending = ending or bool(lane.leaving)
            if lane.process is not None and lane.process.unsent:
                lane.process.flush()
                wait = _BUSY_SECONDS
        if ending:
            wait = _BUSY_SECONDS
        if commanded or ending:
            self._follow()
        if self._pending:
            self._pending = [command for command in self._pending if not self._is_done(command)]
        self._over = lockstep.closed and self._all_gone() and not self._pending
        return wait

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
            return
        if action.done is None:
            action.finish()
        else:
            self._pending.append(action)

    def _is_done(self, command: Command) -> bool:
        assert command.done is not None
        if command.done():
            command.finish()
            return True
        if self._lockstep.closed and command.begin != self._lockstep.close:
            command.finish(MosaicError("this comparison was ended"))
            return True
        return False

    def _follow(self) -> None:
        """Update the set of monitored outputs: all arenas, including ending ones until they have ended."""
        found = {}
        for lane in self._lockstep.lanes:
            lane.gone()
            for process in (lane.process, *lane.leaving):
                if process is not None and not process.silent:
                    found[process.output] = lane, process
        for descriptor, (_, process) in list(self._sources.items()):
            if found.get(descriptor, (None, None))[1] is not process:
                self._ignore(descriptor)
        for descriptor, source in found.items():
            if descriptor not in self._sources:
                self._sources[descriptor] = source
                self._poll.register(descriptor, select.POLLIN)

    def _ignore(self, descriptor: int) -> None:
        del self._sources[descriptor]
        self._poll.unregister(descriptor)

    def _all_gone(self) -> bool:
        return all(lane.gone() for lane in self._lockstep.lanes)

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
                _log.exception("a listener of a comparison has failed")
        return timeout

    def _finish(self) -> None:
        self._over = True
        error = MosaicError("this comparison was ended")
        for command in [*self._pending, *self._inbox]:
            if isinstance(command, Command):
                command.finish(error)
        with self._bell_lock:  # its descriptor may be reused from now on
            bell, self._bell = self._bell, None
        assert bell is not None, "the thread ends once"
        os.close(self._awake)
        os.close(bell)


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
