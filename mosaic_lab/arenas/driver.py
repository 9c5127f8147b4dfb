"""The thread of a comparison: it waits for the arenas of all lanes, executes commands and reports changes.

Commands may be posted from any thread; changes are reported to subscribers. The thread never blocks, neither
on an arena nor on a human player. All lanes advance in lockstep, except during `Lockstep.step_lane`.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakSet

from mosaic_lab.arenas.arena_client import LOOK_SECONDS, ArenaLoop
from mosaic_lab.arenas.arena_process import CLOSE_SECONDS
from mosaic_lab.arenas.lane import Lane, LaneState
from mosaic_lab.errors import MosaicError, RunTimeout

_UNDER_WAY = (LaneState.READY, LaneState.STEPPING)
_log = logging.getLogger(__name__)

CHANGE_SECONDS = 1 / 30
"""Minimum seconds between two reports of changes."""
_EXIT_SECONDS = CLOSE_SECONDS + 6.0  # for all lanes to end at interpreter exit


class Lockstep:
    """The lanes of a comparison, opened by `open`. The last reset set ``seed`` and ``episode`` (from 0)."""

    def __init__(self, lanes: Sequence[Lane], seeds: Sequence[int]) -> None:
        self.lanes = lanes
        self.seeds = seeds
        self.seed = seeds[0]
        self.episode = 0
        self.speed: float | None = None
        """Steps per second while playing; None: as fast as possible."""
        self.closed = False
        self._rounds: float = 0  # remaining steps of all lanes
        self._playing = False
        self._next_step_at = 0.0

    @property
    def mode(self) -> str:
        """The mode: "idle", "playing" or "closed"."""
        return "closed" if self.closed else "playing" if self._playing else "idle"

    @property
    def settled(self) -> bool:
        """Whether no step or reset is running or scheduled."""
        return not self._rounds and not any(lane.busy for lane in self.lanes)

    # ---------------------------------------------------------------- buttons

    def open(self) -> None:
        for lane in self.lanes:
            lane.open(self.seed, self.episode)

    def step(self, count: int) -> None:
        """Step all lanes ``count`` times."""
        self._refuse_if_over()
        self._rounds, self._playing, self._next_step_at = count, False, 0.0

    def step_lane(self, lane: Lane, count: int) -> None:
        """Step a single lane ``count`` times. Raises MosaicError if it cannot step."""
        if lane.state not in (LaneState.OPENING, LaneState.READY, LaneState.STEPPING):
            raise MosaicError(f"{lane.label} cannot step: {_why(lane)}")
        ahead = lane.step + (lane.state is LaneState.STEPPING)
        lane.target = max(lane.target, ahead) + count

    def play(self, steps: int | None, speed: float | None) -> None:
        """Step all lanes until each has finished its episode or ``steps`` steps have been made."""
        self._refuse_if_over()
        self._rounds, self._playing, self.speed = steps or math.inf, True, speed
        self._next_step_at = 0.0

    def pause(self) -> None:
        """Stop after the steps under way."""
        self._rounds, self._playing = 0, False
        for lane in self.lanes:
            if lane.state is not LaneState.OPENING:
                lane.target = 0

    def reset(self, seed: int | None) -> None:
        """Stop playing and begin another episode in all lanes (default: on the same seed). Raises MosaicError
        if no lane can be reset."""
        if not any(lane.resettable for lane in self.lanes):
            raise MosaicError(f"no lane can be reset: {_states(self.lanes)}")
        self.pause()
        self.seed = self.seed if seed is None else seed
        self.episode += 1
        for lane in self.lanes:
            if lane.resettable:
                lane.reset(self.seed, self.episode)

    def next_seed(self) -> int:
        """Reset to the next seed in the list, or the first after the last."""
        index = self.seeds.index(self.seed) + 1 if self.seed in self.seeds else 0
        self.reset(self.seeds[index % len(self.seeds)])
        return self.seed

    def restart(self, lane: Lane) -> None:
        """Reopen a lane. It then catches up with the others."""
        other_steps = [other.step for other in self.lanes if other is not lane and other.state in _UNDER_WAY]
        lane.open(self.seed, self.episode, min(other_steps, default=0))

    def close(self, kernel_ends: bool = False) -> None:
        """End all lanes (see `Lane.stop`). No further actions are possible."""
        self._rounds, self._playing, self.closed = 0, False, True
        for lane in self.lanes:
            lane.stop(kernel_ends)

    # ------------------------------------------------------------- its thread

    def advance(self, now: float) -> float | None:
        """Start the steps that can start. Return when to call this again, on the monotonic clock."""
        waiting = False
        for lane in self.lanes:
            if lane.state is LaneState.READY and lane.step < lane.target:
                lane.go()
            waiting = waiting or lane.busy
        if not self._rounds or waiting:
            return None
        if now < self._next_step_at:
            return self._next_step_at
        ready = [lane for lane in self.lanes if lane.state is LaneState.READY]
        if ready:
            behind = min(lane.step for lane in ready)
            for lane in ready:
                if lane.step == behind:
                    lane.go()
            self._rounds -= 1
            self._next_step_at = self._next_step_after(now)
        else:
            self._rounds = 0
        if not self._rounds:
            self._playing = False
        return None

    def _next_step_after(self, now: float) -> float:
        """Return the time of the next step: a steady beat that does not make up for missed steps."""
        if not self._playing or not self.speed:
            return 0.0
        period = 1 / self.speed
        return (self._next_step_at if now - self._next_step_at < period else now) + period

    def _refuse_if_over(self) -> None:
        if not any(lane.busy or lane.state is LaneState.READY for lane in self.lanes):
            raise MosaicError(
                f"no lane can step: {_states(self.lanes)}. cmp.reset() or "
                "cmp.next_seed() begins another episode, cmp.restart(lane) reopens a failed lane"
            )


def _states(lanes: Sequence[Lane]) -> str:
    return "; ".join(f"{lane.label}: {_why(lane)}" for lane in lanes)


def _why(lane: Lane) -> str:
    reason = lane.reason.splitlines()[0] if lane.reason else ""
    return f"{lane.state} ({reason})" if reason else str(lane.state)


_drivers: WeakSet[Driver] = WeakSet()


class Command:
    """An action for the driver's thread, with the condition under which it is done."""

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
    """The driver of a comparison, whose arenas are opened in ``loop``. It holds ``lock`` during all changes
    to lanes; hold it for consistent reads."""

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
        self._ended = False
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
            if not self._ended:
                os.write(self._bell, b"!")

    def call(
        self, begin: Callable[[], Any], done: Callable[[], bool] | None, timeout: float, what: str
    ) -> Any:
        """Execute a command in the driver's thread and wait until it is done, unless ``timeout`` is 0. Raises
        what ``begin`` raises, RunTimeout, and MosaicError if the comparison has ended."""
        command = Command(begin, done if done and timeout > 0 else lambda: True)
        alone = threading.current_thread() is self._thread  # a listener must not wait for its own thread
        if self._ended:
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
        """Call ``callback`` in the driver's thread after changes. Return a function that unsubscribes it."""
        self._listeners = [*self._listeners, callback]

        def unsubscribe() -> None:
            self._listeners = [listener for listener in self._listeners if listener is not callback]

        return unsubscribe

    def close(self, timeout: float) -> None:
        """End all lanes and the thread. Raises RunTimeout if they do not end in time."""
        if not self._ended:
            self.call(self._lockstep.close, lambda: not self.loop.arenas, timeout, "ending the comparison")

    def abandon(self, kernel_ends: bool = False) -> None:
        """Schedule the end of all lanes, for a comparison that was garbage-collected or whose kernel ends."""
        self.post(partial(self._lockstep.close, kernel_ends))

    def _waiting_for(self) -> str:
        with self.lock:
            waits = [lane.label for lane in self._lockstep.lanes if lane.busy]
        return f" (waiting for {', '.join(waits)})" if waits else ""

    # ------------------------------------------------------------- the thread

    def _run(self) -> None:
        timeout = 0.0
        try:
            while not self._ended:
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
        next_step = self._lockstep.advance(now)
        self._pending = [command for command in self._pending if not self._is_done(command)]
        self._ended = self._lockstep.closed and not self.loop.arenas and not self._pending
        return LOOK_SECONDS if next_step is None else min(LOOK_SECONDS, next_step - now)

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
        if now - self._reported_at < CHANGE_SECONDS and not self._ended:
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
            self._ended = True
            os.close(self._awake)
            os.close(self._bell)
        error = MosaicError("this comparison was ended")
        for command in [*self._pending, *self._inbox]:
            if isinstance(command, Command):
                command.finish(error)


@atexit.register
def _end_all() -> None:
    """End all arenas at interpreter exit. If the interpreter is killed, they notice it themselves."""
    drivers = [driver for driver in _drivers if driver.pid == os.getpid()]  # none in a forked process
    for driver in drivers:
        with suppress(Exception):
            driver.abandon(kernel_ends=True)
    for driver in drivers:
        with suppress(Exception):
            driver.close(_EXIT_SECONDS)
