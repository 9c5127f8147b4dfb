"""A thread that reports every few seconds that the worker is alive, its progress and what it uses."""

from __future__ import annotations

import os
import threading
import time

from mosaic_contract.telemetry import Telemetry
from mosaic_contract.usage import usage_of_tree

DEFAULT_INTERVAL = 5.0
"""Seconds between two heartbeats."""


class Heartbeats:
    """Context manager: the first heartbeat at once, then one every `interval` seconds until the end of the
    block.
    """

    def __init__(self, telemetry: Telemetry, interval: float = DEFAULT_INTERVAL) -> None:
        self._telemetry = telemetry
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="mosaic-heartbeats", daemon=True)

    def __enter__(self) -> Heartbeats:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=1.0)

    def _beat(self) -> None:
        pid, then = os.getpid(), time.monotonic()
        usage = usage_of_tree(pid)
        self._telemetry.heartbeat(usage.memory_mb, 0.0)
        while not self._stop.wait(self._interval):
            before, usage = usage, usage_of_tree(pid)
            elapsed, then = time.monotonic() - then, time.monotonic()
            spent = max(0.0, usage.cpu_seconds - before.cpu_seconds)
            self._telemetry.heartbeat(usage.memory_mb, 100.0 * spent / elapsed)
