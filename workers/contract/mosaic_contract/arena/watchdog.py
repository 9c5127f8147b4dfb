"""A thread that reports the arena's activity every second, and gives up on an environment that takes too
long.

The arena's main thread cannot do so while it executes code of the environment or of an operator in its own
process. Thinking time of operators never counts against the environment.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import traceback
from typing import Any, Callable, Iterator, Mapping, Tuple

from mosaic_contract.arena.errors import ArenaError, KernelDisconnected

BEAT_SECONDS = 1.0
"""Seconds between two beats. Shorter activities are not reported."""

RESET, STEP, RENDER = "reset", "step", "render"
OPERATORS, PAUSE = "operators", "pause"
ENVIRONMENT = (RESET, STEP, RENDER)
"""Activities that count as the environment's time."""

STEP_TIMEOUT = "StepTimeout"
"""The error type of an environment that took too long. Its arena cannot be used afterwards."""

Activity = Tuple[str, str]  # the command it belongs to, and one of the above


class Watchdog:
    """A watchdog, created in the thread that executes the commands. `send` sends a message to the kernel,
    `step_index` returns the number of steps in the episode so far."""

    def __init__(self, send: Callable[[Mapping[str, Any]], None], step_index: Callable[[], int]) -> None:
        self._send_message = send
        self._step_index = step_index
        self._limit: float | None = None
        # Replaced at every change, so that identity means that nothing has changed.
        self._now: Activity | None = None
        self._worker = threading.get_ident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mosaic-watchdog", daemon=True)

    def start(self, limit: float | None) -> None:
        """Start reporting. `limit`: the maximum seconds of a reset or a step, None without one."""
        self._limit = limit
        self._thread.start()

    def stop(self) -> None:
        """Stop sending messages."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(BEAT_SECONDS)

    def enter(self, activity: str) -> None:
        """Report this activity from now on."""
        if self._now is not None:
            self._now = (self._now[0], activity)

    def command(self, name: str) -> Watchdog:
        """Report while a command is executed, within `with`; nothing is reported outside of the block."""
        self._now = (name, OPERATORS)
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._now = None

    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        """Count the time as rendering, whatever activity it interrupts."""
        before = self._now
        self._now = (before[0] if before else RENDER, RENDER)
        try:
            yield
        finally:
            self._now = before

    def _run(self) -> None:
        then, seen, seconds = time.monotonic(), None, 0.0
        with contextlib.suppress(KernelDisconnected):
            while not self._stop.wait(BEAT_SECONDS):
                before, then = then, time.monotonic()
                activity = self._now
                # Time in which this process was suspended does not count.
                seconds = seconds + min(then - before, 2 * BEAT_SECONDS) if activity is seen else 0.0
                seen = activity
                if activity is None:
                    continue
                command, doing = activity
                if doing in ENVIRONMENT and self._limit is not None and seconds >= self._limit:
                    self._send_message(self._overdue(doing).to_message(command))
                    return
                beat = {"type": "beat", "doing": doing, "seconds": round(seconds, 1)}
                self._send_message({**beat, "step_index": self._step_index()})

    def _overdue(self, doing: str) -> ArenaError:
        frame = sys._current_frames().get(self._worker)
        stack = "".join(traceback.format_stack(frame)) if frame is not None else ""
        return ArenaError(
            f"the environment's {doing} took longer than {self._limit:g} s (step_timeout)",
            error_type=STEP_TIMEOUT,
            log=stack,
        )
