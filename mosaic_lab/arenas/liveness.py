"""The detection of unresponsive and stalled arenas, with all of this process's limits that depend on
``step_timeout``.

An arena reports a slow environment itself, after ``step_timeout`` seconds. If the environment blocks the
arena, or the arena is suspended, the absence of messages reveals it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

HUNG = "StepTimeout"
"""The error type of an environment that exceeded the step limit; its arena is no longer usable."""

_MARGIN = 5.0  # seconds beyond the limit for the arena's own report
_LOOK_SECONDS = 1.0  # maximum silence counted per check: this process may itself have been suspended
_QUIET_SECONDS = 5.0  # without a heartbeat, which arrives every second
_STALL_SECONDS = 2.0, 10.0  # bounds of the time without a step; arenas report steps once per second


class Liveness:
    """The liveness of an arena; ``step_timeout`` in seconds. Call `begin` and `heard` before `overdue`."""

    def __init__(self, step_timeout: float) -> None:
        self.limit = step_timeout + _MARGIN
        """Seconds without a message after which an arena has failed."""
        shortest, longest = _STALL_SECONDS
        self._stall = max(shortest, min(longest, step_timeout / 4))
        self.begin()

    def begin(self) -> None:
        """Start timing, when a command is sent."""
        self._step: Any = 0
        self._moved_at = self._looked_at = time.monotonic()
        self._unresponsive = 0.0
        self._doing = "environment"

    def heard(self, message: Mapping[str, Any]) -> None:
        """Process any message from the arena: it responds, and a heartbeat reports what it is doing."""
        self._unresponsive, self._looked_at = 0.0, time.monotonic()
        kind = message.get("type")
        if kind == "thinking":
            self._doing = "operators"
        elif kind == "beat":
            self._doing = str(message.get("doing"))
            if message.get("step_index") != self._step:
                self._step, self._moved_at = message.get("step_index"), self._looked_at

    @property
    def stalled(self) -> float | None:
        """Seconds since the last known step, or since the command, if that is a long time; else None."""
        seconds = time.monotonic() - self._moved_at
        return seconds if seconds >= self._stall else None

    @property
    def waits_for(self) -> str:
        """What the arena waits for, as text; empty during a requested pause."""
        if self._unresponsive > _QUIET_SECONDS:
            return "its arena does not respond"
        return {"operators": "waiting for its operator", "pause": ""}.get(
            self._doing, "waiting for its environment"
        )

    def overdue(self) -> str | None:
        """Return why the arena's answer is overdue; None if it is not."""
        now = time.monotonic()
        self._unresponsive += min(now - self._looked_at, _LOOK_SECONDS)
        self._looked_at = now
        if self._unresponsive < self.limit:
            return None
        return (
            f"its arena has not responded for {self.limit:g} s: it was suspended, or its environment blocks "
            "the interpreter (step_timeout)"
        )
