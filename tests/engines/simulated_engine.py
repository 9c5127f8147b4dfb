"""A simulated engine: runs occupy a slot for a fixed time and write telemetry at intervals; nothing executes.

For tests of the code above the engine interface, and for measuring how many runs it supports.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic_lab.engines.engine import FileChunk, Increment, Known, Node, Stop
from mosaic_lab.engines.job import Job

_LINE = 200  # bytes of each line


@dataclass
class _Run:
    start: float
    slot: int
    stopped: float | None = None


class SimulatedEngine:
    """Implements `Engine` with ``nodes`` of ``slots`` runs each, started in the order of submission.

    A run lasts ``seconds`` and writes a timestamped line of telemetry every ``interval`` seconds.
    """

    def __init__(self, nodes: int, slots: int, seconds: float, interval: float) -> None:
        self._nodes = nodes
        self._slots = slots
        self._seconds = seconds
        self._interval = interval
        self._free = [(0.0, slot) for slot in range(nodes * slots)]
        self._runs: dict[str, _Run] = {}
        self._lock = threading.Lock()

    def submit(self, job: Job, variables: Mapping[str, str], node: str | None) -> None:
        with self._lock:
            if job.run_id not in self._runs:
                free, slot = heapq.heappop(self._free)
                start = max(time.time(), free)
                heapq.heappush(self._free, (start + self._seconds, slot))
                self._runs[job.run_id] = _Run(start, slot)

    def node_of(self, run_id: str) -> str | None:
        run = self._runs[run_id]
        return f"node{run.slot // self._slots}" if time.time() >= run.start else None

    async def read(self, run_id: str, known: Known, seconds: float) -> Increment:
        run = self._runs[run_id]
        end = min(run.start + self._seconds, run.stopped or float("inf"))
        lines = known.grown.get("telemetry.jsonl", 0) // _LINE
        due = min(run.start + (lines + 1) * self._interval, end)
        if known.status is None or time.time() < run.start:
            due = min(due, run.start)
        await asyncio.sleep(max(0.0, min(seconds, due - time.time())))
        now = time.time()
        if now < run.start:
            busy = len(self._free)
            return _said("queued", f"waits for 1 CPU; {busy} of {busy} are busy on simulated")
        there = int((min(now, end) - run.start) / self._interval)
        chunks = ()
        if there > lines:
            data = b"".join(_line(run.start + (n + 1) * self._interval, n) for n in range(lines, there))
            chunks = (FileChunk("telemetry.jsonl", lines * _LINE, data, there * _LINE, int(now * 1e9)),)
        if now < end:
            return _said("running", "has reported", chunks)
        state = "cancelled" if run.stopped else "completed"
        return _said(state, "ended", chunks, complete=not chunks)

    async def frame(self, run_id: str, fps: float) -> None: ...

    async def stop(self, run_id: str, stop: Stop) -> None:
        self._runs[run_id].stopped = time.time()

    async def forget(self, run_id: str) -> None:
        del self._runs[run_id]

    def nodes(self) -> list[Node]:
        return [Node(f"node{number}", self._slots, 0, 0, 0) for number in range(self._nodes)]


def _line(at: float, step: int) -> bytes:
    payload = {"step": step, "values": {"sent": at}}
    event = {"event": "metrics", "run_id": "simulated", "timestamp": at, "payload": payload}
    return json.dumps(event).encode().ljust(_LINE - 1) + b"\n"


def _said(state: str, reason: str, chunks: tuple[FileChunk, ...] = (), complete: bool = False) -> Increment:
    status: dict[str, Any] = {"state": state, "reason": reason, "outcome": None}
    return Increment(status, chunks, complete)
