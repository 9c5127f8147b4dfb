"""A keeper's connection to the bridge, the process that mirrors runs of a cluster; one is started if needed.

JSON lines over a socket in a private folder. The keeper sends the run with all that it needs (values of
variables too, which are written nowhere), then perhaps a stop; the bridge sends states. Either may be killed:
the keeper connects again and sends the run again.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_lab.keeper.files import open_for_appending

_START_AGAIN = 5.0  # seconds between two starts of a bridge
_LONGEST_LINE = 1 << 20


class BridgeLink:
    """The run in ``folder`` at the bridge that ``bridge`` describes.

    ``bridge`` has the ``command`` and the ``environment`` that start it, its ``socket`` and ``log``, and the
    ``run`` to send: the `Job` and the values of its variables.
    """

    def __init__(self, bridge: Mapping[str, Any], folder: Path) -> None:
        self._bridge = bridge
        self._folder = folder
        self._socket: socket.socket | None = None
        self._received = b""
        self._started = -_START_AGAIN
        self._stop: dict[str, Any] | None = None

    def fileno(self) -> int:
        """The connection's descriptor, to wait for; -1 without one."""
        return -1 if self._socket is None else self._socket.fileno()

    def stop(self, grace_seconds: float, reason: str) -> None:
        """Request the run's end; sent again over each further connection."""
        if self._stop != (request := {"stop": True, "grace_seconds": grace_seconds, "reason": reason}):
            self._stop = request
            self._send(request)

    def receive(self) -> list[dict[str, Any]]:
        """Return what the bridge has sent, without waiting; connect, or start a bridge, if needed."""
        if self._socket is None:
            self._connect()
        while self._socket is not None:
            try:
                data = self._socket.recv(1 << 16)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data or len(self._received) > _LONGEST_LINE:
                self.close()
                break
            self._received += data
        *lines, self._received = self._received.split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._received = None, b""

    def _connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(1.0)
        try:
            connection.connect(self._bridge["socket"])
        except OSError:
            connection.close()
            self._start()
            return
        connection.setblocking(False)
        self._socket = connection
        self._send({"folder": str(self._folder), **self._bridge["run"]})
        if self._stop is not None:
            self._send(self._stop)

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._socket is None:
            return
        try:
            self._socket.setblocking(True)
            self._socket.settimeout(5.0)
            self._socket.sendall(json.dumps(message).encode() + b"\n")
            self._socket.setblocking(False)
        except OSError:
            self.close()

    def _start(self) -> None:
        """Start a bridge, which leaves at once where another one has just been started."""
        if time.monotonic() - self._started < _START_AGAIN:
            return
        self._started = time.monotonic()
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            return
        # The bridge is no child of the keeper's: it serves other runs, too.
        with suppress(BaseException), open_for_appending(Path(self._bridge["log"])) as log:
            subprocess.Popen(
                self._bridge["command"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=self._bridge["environment"],
                start_new_session=True,
            )
        os._exit(0)
