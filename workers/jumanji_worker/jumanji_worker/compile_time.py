"""The time that XLA compiles before a training's first update is done, up to minutes, in the run's log."""

from __future__ import annotations

import logging
import time
from typing import Any

import jax

_EVENT = "/jax/core/compile/backend_compile_duration"  # of a program, also where it was found compiled

log = logging.getLogger(__name__)


class CompileTime:
    """Logs that compiling begins, and how long it took when the first update is done."""

    def __init__(self) -> None:
        self._began, self._compiled, self._over = time.monotonic(), 0.0, False
        jax.monitoring.register_event_duration_secs_listener(self._heard)
        log.info("compiling the first update: for up to minutes, for seconds where that was done before")

    def updated(self) -> None:
        """Log the time of the first update."""
        if not self._over:
            self._over = True
            took = time.monotonic() - self._began
            log.info(
                "the first update is done after %.1f s, %.1f s of which XLA compiled", took, self._compiled
            )

    def _heard(self, event: str, seconds: float, **_: Any) -> None:
        if event == _EVENT:
            self._compiled += seconds
