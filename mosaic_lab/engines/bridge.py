"""The bridge: one process for all runs of a user on a cluster, which mirrors them into their run folders.

Keepers connect to its socket (see `keeper.bridge_link`), each for one run. It runs in an environment of its
own that matches the cluster, and leaves when it has had no run for a while. It may be killed at any moment.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mosaic_lab.engines.engine import Engine
from mosaic_lab.engines.job import Job
from mosaic_lab.engines.mirror import Mirror

IDLE = 60.0
"""Seconds without a run after which the bridge leaves."""


class Bridge:
    """Serves keepers at the socket ``path`` with ``engine``, the cluster called ``name``."""

    def __init__(self, path: Path, engine: Engine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._path = path
        self._runs = 0
        self._lock = threading.Lock()
        self._idle_since = time.monotonic()

    def serve(self) -> None:
        """Serve until no run has needed it for `IDLE` seconds."""
        self._path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(self._path))
            listening.listen(128)
            listening.settimeout(1.0)
            while self._runs or time.monotonic() - self._idle_since < IDLE:
                try:
                    connection, _ = listening.accept()
                except TimeoutError:
                    continue
                with self._lock:
                    self._runs += 1
                threading.Thread(target=self._follow, args=(connection,), daemon=True).start()
            self._path.unlink(missing_ok=True)

    def _follow(self, connection: socket.socket) -> None:
        connection.settimeout(None)
        try:
            with connection, connection.makefile("rb") as lines:
                self._mirror(connection, json.loads(next(lines)), lines)
        except (OSError, StopIteration):
            pass  # its keeper is gone
        finally:
            with self._lock:
                self._runs -= 1
                self._idle_since = time.monotonic()

    def _mirror(self, connection: socket.socket, request: Mapping[str, Any], lines: Any) -> None:
        def report(status: Mapping[str, Any]) -> None:
            try:
                connection.sendall(json.dumps(status).encode() + b"\n")
            except OSError:
                mirror.abandon()

        job = Job.from_json(request["job"])
        mirror = Mirror(self._engine, self._name, job, request["variables"], Path(request["folder"]), report)
        work = threading.Thread(target=_reporting(mirror.run, report), daemon=True)
        work.start()
        for line in lines:  # until its keeper closes the connection, or dies
            message = json.loads(line)
            if message.get("stop"):
                mirror.stop(float(message["grace_seconds"]))
        mirror.abandon()
        work.join()


def _reporting(run: Callable[[], None], report: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
    """Return a function that runs the mirror, and reports what it did not expect as the run's failure."""

    def guarded() -> None:
        try:
            run()
        except Exception as error:
            report({"state": "failed", "reason": f"the bridge failed: {error!r}", "outcome": None})
            raise

    return guarded


def main(path: Path, engine: Engine, name: str) -> None:
    """Serve at ``path``; return at once when another bridge does."""
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(0)
    Bridge(path, engine, name).serve()
