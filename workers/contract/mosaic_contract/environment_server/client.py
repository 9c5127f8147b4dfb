"""The training's side of an environment server: its process, its pipes and the shared memory."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import time
from contextlib import suppress
from typing import Any, Mapping

from mosaic_contract.codec import OPERATING_LINE_LIMIT, LineSplitter, decode_line, encode_line
from mosaic_contract.errors import ConfigError, EnvironmentFault, UpstreamFailed
from mosaic_contract.messages import PROTOCOL
from mosaic_contract.piped_process import how_it_ended
from mosaic_contract.readable import Readable
from mosaic_contract.registry import assigned, variables_of_server
from mosaic_contract.shared_values import SharedValues, unnamed_file
from mosaic_contract.signals import signals_held

STEP_TIMEOUT = 300.0
"""Seconds that an environment may take for a reset, a step or a picture, unless the configuration says
otherwise."""

_OPEN_SECONDS = 120.0  # for imports, on a busy machine
_MARGIN = 15.0  # seconds beyond a limit for the server's own report
_CLOSE_SECONDS = 3.0
_DYING_SECONDS = 2.0  # from the end of the output until the exit
_CHUNK = 1 << 16
_RETURNED = b'{"type":"returned"}'
_EMPTY: Mapping[str, Any] = {"type": "returned"}
_DIED = ChildProcessError.__name__
_FINAL = (_DIED, "SystemExit", "StepTimeout")
"""Types of errors after which the server is not used again."""


class EnvironmentClient:
    """A server's process. It starts in the background; the first `make` waits for it. Call all methods in one
    thread.

    `environments` holds the open environments (`Served`) by key, and `latest_make` the latest command "make".

    Errors of environments are raised as in their own process: `EnvironmentFault` and `ConfigError`, all
    others as `UpstreamFailed` with their types and tracebacks.
    """

    def __init__(self, server: Mapping[str, Any]) -> None:
        self._worker = server["worker"]
        self._step_timeout: float = server.get("step_timeout", STEP_TIMEOUT)
        self._splitter = LineSplitter(OPERATING_LINE_LIMIT)
        self._lines: list[bytes] = []
        self._sent_count = self._received_count = 0
        self._failure: Exception | None = None
        self.environments: dict[str, Any] = {}
        self.memory = unnamed_file()
        self._values = SharedValues(self.memory)
        self._process = subprocess.Popen(
            [*server["command"], "--environments"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            pass_fds=[self.memory],
            env=variables_of_server(),
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._readable = Readable(self._output)
        opening = {
            "protocol": PROTOCOL,
            "memory": self.memory,
            "step_timeout": self._step_timeout,
            "shared_values": True,
        }
        atexit.register(self.close)
        self._opening = self.send(encode_line({"cmd": "open", **opening}))
        self._pending_makes: dict[bytes, int] = {}
        self.latest_make = b""

    def make(self, command: bytes) -> Mapping[str, Any]:
        """Return the answer to an encoded command "make", which `begin_make` may have sent already."""
        self.answer(self._opening, "open")
        pending, self._pending_makes, self.latest_make = self._pending_makes, {}, command
        for pending_command, number in pending.items():
            if pending_command != command:
                self.request("close", index=self.answer(number, "make")["index"])
        return self.answer(pending.get(command) or self.send(command), "make")

    def begin_make(self, command: bytes) -> None:
        """Send the command "make" of the first environment, without waiting for the answer."""
        self._pending_makes[command] = self.send(command)

    def request(self, command: str, **fields: Any) -> Mapping[str, Any]:
        """Send a command and return its answer. Raises the environment's error."""
        line = encode_line({"cmd": command, **fields}, OPERATING_LINE_LIMIT)
        return self.answer(self.send(line), command)

    def picture(self, index: int) -> Any:
        """Return a picture of an environment. Raises `ConfigError` for a server of an older contract."""
        answer = self.request("render", index=index)
        if "picture" not in answer:
            raise ConfigError(
                f"worker {self._worker!r} has an older contract, whose pictures are not understood: install "
                f"it again with a newer mosaic-contract (mosaic-lab workers install {self._worker})"
            )
        return answer["picture"]

    def send(self, line: bytes) -> int:
        """Send an encoded command and return its number. Raises the error that ended the server."""
        if self._failure is not None:
            raise self._failure
        try:
            self._sent_count += 1  # here, since no signal is handled before the next call
            while line:
                line = line[os.write(self._input, line) :]
        except OSError:  # its output will have ended
            pass
        return self._sent_count

    def answer(self, number: int, command: str) -> Mapping[str, Any]:
        """Return the answer to the command with this number. Raises the environment's error.

        Answers to earlier commands, left unread because of a signal, are dropped and later count as empty.
        Environments keep the texts in them, which are not sent again.
        """
        if number <= self._received_count:
            return _EMPTY
        limit = _OPEN_SECONDS if command in ("open", "make", "close") else self._step_timeout + _MARGIN
        deadline = time.monotonic() + limit
        while True:
            line = self._line(command, deadline, limit)
            message = _EMPTY if line == _RETURNED else self._message(line)
            del self._lines[0]  # now, since a signal may have interrupted its reading
            if message["type"] == "beat":
                continue
            self._received_count += 1
            error = self._error(message) if message["type"] == "error" else None
            if error is not None and (self._received_count == number or self._failure is not None):
                raise error
            if self._received_count == number:
                return message
            for key, message_parts in message.get("returned", {}).items():
                if key in self.environments:
                    self.environments[key].keep_texts(message_parts)

    def release(self) -> None:
        """End the server without waiting for it. Its environments count as closed."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self.environments.clear()
        self._failure = UpstreamFailed("the environment's process has ended with the training", _DIED)

    def close(self) -> None:
        """End the server."""
        self.release()
        try:
            self._process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _line(self, command: str, deadline: float, limit: float) -> bytes:
        """Return the next line, which stays the first of `_lines`."""
        while not self._lines:
            if not self._readable.wait(max(0.0, deadline - time.monotonic())):
                raise self._end(
                    f"the environment's {command} has not ended after {limit:g} s: it blocks the interpreter "
                    "(step_timeout)",
                    "StepTimeout",
                )
            with signals_held():  # nothing that was read is lost
                data = os.read(self._output, _CHUNK)
                self._lines = self._splitter.feed(data)
            if not data:
                ending = how_it_ended(self._process, _DYING_SECONDS)
                text = f"the environment's process (worker '{self._worker}') {ending} during its {command}"
                raise self._end(text, _DIED)
        return self._lines[0]

    def _message(self, line: bytes) -> Mapping[str, Any]:
        """Return an answer with copies of its arrays in memory."""
        message = decode_line(line)
        if b'"__' in line:  # the mark of an array
            for field in ("returned", "picture"):
                if field in message:
                    message[field] = self._values.read(message[field])
        return message

    def _error(self, message: Mapping[str, Any]) -> Exception:
        text, kind = str(message["message"]), str(message["error_type"])
        if kind in _FINAL:
            return self._end(text, kind, str(message.get("log", "")))
        if kind == EnvironmentFault.__name__:
            return EnvironmentFault(text)
        if kind == ConfigError.__name__:
            return ConfigError(text)
        return UpstreamFailed(text, kind, str(message.get("log", "")))

    def _end(self, text: str, kind: str, log: str = "") -> Exception:
        """Kill the server and return the error that is raised from now on."""
        with suppress(ProcessLookupError):
            self._process.kill()
        self._failure = UpstreamFailed(text, kind, log)
        return self._failure


def client_of(server: Mapping[str, Any]) -> EnvironmentClient:
    """Return the client for one more environment of a training in this process.

    `server` has the name of a "worker" and its "command", the maximum number of "processes" (default: 1) and
    the "step_timeout". A process is started when all others have an environment.
    """
    clients = _clients(json.dumps(server), os.getpid())
    least_loaded = min(clients, key=lambda client: len(client.environments), default=None)
    if least_loaded is None or (least_loaded.environments and len(clients) < server.get("processes", 1)):
        least_loaded = EnvironmentClient(server)
        clients.append(least_loaded)
    return least_loaded


def provide_servers(env_id: str, environments: int) -> None:
    """Start the processes that this number of environments needs, and end the others. Does not wait for them,
    and does nothing for an environment that is made in this process.

    A new process makes its first environment at once, like the latest environment of the first process.
    """
    if (server := assigned(env_id)) is None:
        return
    clients = _clients(json.dumps(server), os.getpid())
    count = min(server.get("processes", 1), environments)
    with suppress(OSError):  # reported when an environment is made
        for _ in range(len(clients), count):
            clients.append(EnvironmentClient(server))
            if clients[0].latest_make:
                clients[-1].begin_make(clients[0].latest_make)
    for client in clients[count:]:
        client.release()
    del clients[count:]


@functools.lru_cache(maxsize=None)
def _clients(server: str, pid: int) -> list[EnvironmentClient]:
    """Return the clients of this process, which exclude its parent's after a fork."""
    return []
