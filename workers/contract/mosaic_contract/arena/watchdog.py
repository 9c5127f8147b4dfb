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
        self._activity: Activity | None = None
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
        if self._activity is not None:
            self._activity = (self._activity[0], activity)

    def command(self, name: str) -> Watchdog:
        """Report while a command is executed, within `with`; nothing is reported outside of the block."""
        self._activity = (name, OPERATORS)
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._activity = None

    @contextlib.contextmanager
    def rendering(self) -> Iterator[None]:
        """Count the time as rendering, whatever activity it interrupts."""
        previous = self._activity
        self._activity = (previous[0] if previous else RENDER, RENDER)
        try:
            yield
        finally:
            self._activity = previous

    def _run(self) -> None:
        last_check, last_activity, seconds = time.monotonic(), None, 0.0
        with contextlib.suppress(KernelDisconnected):
            while not self._stop.wait(BEAT_SECONDS):
                previous_check, last_check = last_check, time.monotonic()
                activity = self._activity
                # Time in which this process was suspended does not count.
                elapsed = min(last_check - previous_check, 2 * BEAT_SECONDS)
                seconds = seconds + elapsed if activity is last_activity else 0.0
                last_activity = activity
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
