"""The keeper of a run on a cluster. It records the states that the bridge reports and forwards stop requests.

The run has another keeper on the node. This one manages the run's state on this machine and, like any keeper,
outlives the kernel.
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
from mosaic_lab.keeper.keeper import TICK, Keeper
from mosaic_lab.keeper.states import Outcome, State

_START_AGAIN = 5.0  # minimum seconds between two starts of a bridge
_LONGEST_LINE = 1 << 20


class BridgeLink:
    """The connection of the run in ``folder`` to its bridge.

    ``bridge`` contains the ``command`` and the ``environment`` that start the bridge, its ``socket`` and
    ``log``, and the ``run`` to send: the `Job` and the values of its variables.
    """

    def __init__(self, bridge: Mapping[str, Any], folder: Path) -> None:
        self._bridge = bridge
        self._folder = folder
        self._socket: socket.socket | None = None
        self._received = b""
        self._started = -_START_AGAIN
        self._stop: dict[str, Any] | None = None

    def fileno(self) -> int:
        """Return the connection's descriptor for `select`, or -1 without a connection."""
        return -1 if self._socket is None else self._socket.fileno()

    def stop(self, grace_seconds: float, reason: str) -> None:
        """Request the run's end. The request is sent again over each new connection."""
        if self._stop != (request := {"stop": True, "grace_seconds": grace_seconds, "reason": reason}):
            self._stop = request
            self._send(request)

    def receive(self) -> list[dict[str, Any]]:
        """Return the messages received so far, without waiting. Connects, or starts a bridge, if needed."""
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
            self._socket.settimeout(5.0)
            self._socket.sendall(json.dumps(message).encode() + b"\n")
            self._socket.setblocking(False)
        except OSError:
            self.close()

    def _start(self) -> None:
        """Start a bridge, which exits at once if another one has just been started."""
        if time.monotonic() - self._started < _START_AGAIN:
            return
        self._started = time.monotonic()
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            return
        # A grandchild: the bridge serves other runs too and must not end with this keeper.
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


UNREACHABLE = 3600.0
"""Seconds to keep trying to stop a run on an unreachable cluster."""
_End = tuple[State, str, Outcome]


class RemoteKeeper(Keeper):
    """The life of a run on a cluster. Call `live` once."""

    def live(self) -> None:
        """Follow the run to its end. Always reaches a final state."""
        end: _End = State.FAILED, "its keeper failed", Outcome()
        try:
            end = self._follow()
        except Exception as error:
            end = State.FAILED, f"its keeper failed: {type(error).__name__}: {error}", Outcome()
            raise
        finally:
            if self.folder.path.exists():
                self.record.finish(*end)

    def _follow(self) -> _End:
        assert self.launch.bridge is not None
        link = BridgeLink(self.launch.bridge, self.folder.path)
        heard = time.monotonic()
        try:
            while True:
                self._check_requests()
                if self.stop is not None:
                    self._pass_on_stop(link)
                for message in link.receive():
                    heard = time.monotonic()
                    if (end := self._record_state(message)) is not None:
                        return end
                if self.stop is not None and time.monotonic() - heard > UNREACHABLE:
                    reason = (
                        f"{self.stop}; its cluster could not be reached: the run may still be running there"
                    )
                    return State.LOST, reason, Outcome()
                self.record.flush()
                self.wakes = [link.fileno()] if link.fileno() >= 0 else []
                self._sleep(TICK if self.wakes else TICK / 5)
        finally:
            link.close()

    def _pass_on_stop(self, link: BridgeLink) -> None:
        if self.stopped_by is None:
            self.stopped_by = "cluster"
            self.record.move(State.STOPPING, f"{self.stop}: the stop is being sent to the cluster")
        link.stop(self.grace, self.why)

    def _record_state(self, message: dict[str, object]) -> _End | None:
        """Record a state reported by the bridge. Return the end if the state is final."""
        state, reason = State(str(message["state"])), str(message["reason"])
        if state.finished:
            outcome = message.get("outcome")
            return state, reason, Outcome(**outcome) if isinstance(outcome, dict) else Outcome()
        if state in (State.STARTING, State.RUNNING) and self.record.status.started_monotonic is None:
            self.record.started_elsewhere(time.monotonic())
        if self.stop is None or state is State.STOPPING:
            self.record.move(state, reason)
        return None
