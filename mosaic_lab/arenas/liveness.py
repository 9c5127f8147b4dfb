"""Whether an arena that executes a command still responds, and since when it has made no step.

An environment that takes too long is reported by its arena itself; one that keeps the arena from reporting
anything, and an arena that is suspended, are recognized because no message arrives.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

HUNG = "StepTimeout"
"""The error type of an environment that took longer; its arena is of no further use."""

_MARGIN = 5.0  # seconds beyond the limit in which the arena itself says what takes so long
_LOOK_SECONDS = 1.0  # without a message that one look may add: this process may have slept itself
_QUIET_SECONDS = 5.0  # without a beat, which come every second


class Liveness:
    """``step_timeout`` in seconds; `begin` and `heard` are to be called before `overdue`."""

    def __init__(self, step_timeout: float) -> None:
        self._limit = step_timeout + _MARGIN
        self.begin()

    def begin(self) -> None:
        """Count from now, when a command is sent."""
        self._step: Any = 0
        self._moved_at = self._looked_at = time.monotonic()
        self._unresponsive = 0.0
        self._doing = "environment"

    def heard(self, message: Mapping[str, Any]) -> None:
        """Take any message of the arena's: it responds, and a beat says what it is doing."""
        self._unresponsive, self._looked_at = 0.0, time.monotonic()
        kind = message.get("type")
        if kind == "thinking":
            self._doing = "operators"
        elif kind == "beat":
            self._doing = str(message.get("doing"))
            if message.get("step_index") != self._step:
                self._step, self._moved_at = message.get("step_index"), self._looked_at

    def still(self) -> float:
        """Return the seconds since the last known step, or since the command."""
        return time.monotonic() - self._moved_at

    @property
    def waits_for(self) -> str:
        """A description of what the arena waits for; empty for a pause that was requested."""
        if self._unresponsive > _QUIET_SECONDS:
            return "its arena does not respond"
        return {"operators": "waiting for its operator", "pause": ""}.get(
            self._doing, "waiting for its environment"
        )

    def overdue(self) -> str | None:
        """Return why the arena's answer is not to be expected any more; None while it is."""
        now = time.monotonic()
        self._unresponsive += min(now - self._looked_at, _LOOK_SECONDS)
        self._looked_at = now
        if self._unresponsive < self._limit:
            return None
        return (
            f"its arena has not responded for {self._limit:g} s: it was suspended, or its environment blocks "
            "the interpreter (step_timeout)"
        )
