"""The bridge: one process that mirrors all runs of a user on a cluster into their run folders.

Keepers connect to its socket (see `keeper.remote_keeper`), one per run. It runs in its own environment that
matches the cluster, and exits when it has had no run for a while. It may be killed at any moment.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from mosaic_lab.engines.engine import Engine, Stop
from mosaic_lab.engines.job import Job
from mosaic_lab.engines.mirror import Mirror

IDLE = 60.0
"""Seconds without a run after which the bridge exits."""
_LONGEST_LINE = 64 << 20  # bytes; a job lists all of its files


class Bridge:
    """Serves keepers at the socket ``path``, using ``engine`` for the cluster ``name``."""

    def __init__(self, path: Path, engine: Engine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._path = path
        self._runs = 0
        self._idle_since = time.monotonic()

    async def serve(self) -> None:
        """Serve until there has been no run for `IDLE` seconds."""
        self._path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(self._follow, self._path, limit=_LONGEST_LINE, backlog=1024)
        async with server:
            while self._runs or time.monotonic() - self._idle_since < IDLE:
                await asyncio.sleep(1.0)
            self._path.unlink(missing_ok=True)

    async def _follow(self, lines: asyncio.StreamReader, keeper: asyncio.StreamWriter) -> None:
        """Mirror the run of one keeper while it is connected."""
        self._runs += 1
        try:
            request = json.loads(await lines.readline() or "null")
            if request is not None:
                await self._mirror(request, lines, keeper)
        except OSError:
            pass  # the keeper is gone
        finally:
            keeper.close()
            self._runs -= 1
            self._idle_since = time.monotonic()

    async def _mirror(
        self, request: Mapping[str, Any], lines: asyncio.StreamReader, keeper: asyncio.StreamWriter
    ) -> None:
        def report(status: Mapping[str, Any]) -> None:
            keeper.write(json.dumps(status).encode() + b"\n")

        job, folder = Job.from_json(request["job"]), Path(request["folder"])
        mirror = Mirror(self._engine, self._name, job, request["variables"], folder, report)
        work = asyncio.create_task(_reporting(mirror.run(), report))
        async for line in lines:  # until the keeper closes the connection or dies
            message = json.loads(line)
            if message.get("stop"):
                mirror.stop(Stop(float(message["grace_seconds"]), str(message["reason"])))
        mirror.abandon()
        await work


async def _reporting(run: Coroutine[Any, Any, None], report: Callable[[Mapping[str, Any]], None]) -> None:
    """Run the mirror, and report unexpected errors as the run's failure."""
    try:
        await run
    except Exception as error:
        report({"state": "failed", "reason": f"the bridge failed: {error!r}", "outcome": None})
        raise


def main(path: Path, engine: Engine, name: str) -> None:
    """Serve at ``path``. Exit at once if another bridge already does."""
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(0)
    asyncio.run(Bridge(path, engine, name).serve())
