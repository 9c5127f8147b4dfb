"""The pipe to the shim: records are collected in memory and sent by a thread four times per second.

Each line is a JSON array of records, and each record an array `[kind, ...]`; `cleanrl_worker/telemetry.py`
reads them. A record costs the script only one append.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from typing import Any, Callable

_INTERVAL = 0.25  # seconds; each turn of the thread takes the interpreter from the training
_BATCH = 1_000  # records per line
_BACKLOG = 200_000  # records; reached only if the shim does not read


class HookChannel:
    """The sender of records. `push` may be called from any thread; it neither blocks nor fails."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waiting: deque[tuple[Any, ...]] = deque()
        self._dropped = 0
        self._sending = threading.Lock()

    def push(self, *record: Any) -> None:
        if len(self._waiting) < _BACKLOG:
            self._waiting.append(record)
        else:
            self._dropped += 1

    def start(self, each_time: Callable[[], None]) -> None:
        """Start the thread, which calls `each_time` before it sends."""
        threading.Thread(target=self._run, args=(each_time,), name="mosaic-channel", daemon=True).start()

    def flush(self) -> None:
        """Send all pending records. Gives up silently if the shim has exited, because this process then ends
        too."""
        with self._sending:
            if self._dropped:
                self._waiting.appendleft(("dropped", self._dropped))
                self._dropped = 0
            while self._waiting:
                count = min(len(self._waiting), _BATCH)
                batch = [self._waiting.popleft() for _ in range(count)]
                data = json.dumps(batch, separators=(",", ":")).encode() + b"\n"
                try:
                    while data:
                        data = data[os.write(self._fd, data) :]
                except OSError:
                    return

    def _run(self, each_time: Callable[[], None]) -> None:
        pause = threading.Event()
        while True:
            pause.wait(_INTERVAL)
            each_time()
            self.flush()
