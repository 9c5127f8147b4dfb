"""The process that runs a policy: requests over its pipes, each with a deadline."""

from __future__ import annotations

import os
import select
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from mosaic_contract import LineSplitter, decode_line, encode_line
from mosaic_contract.codec import OPERATING_LINE_LIMIT
from mosaic_contract.errors import BadLine
from mosaic_contract.piped_process import how_it_ended, start_process
from mosaic_contract.readable import Readable
from mosaic_contract.shared_values import SharedValues, unnamed_file

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.keeper.processes import send_group
from mosaic_lab.keeper.warm_workers import WarmWorker

_CHUNK = 1 << 16
_PING = b'\n{"cmd":"ping"}\n'  # the first newline ends a line that was cut off
_POLL_SECONDS = 1.0  # Python handles a signal that arrives just before a `poll` only after it
_DYING_SECONDS = 2.0  # from the end of the output until the exit
_LOG_BYTES = 4_000
_MOST_LOG_BYTES = 1 << 20
_LOG_LINES = 10
_AGAIN = "make the policy again"


class PolicyProcess:
    """A worker's process that runs an operator, and the memory shared with it. Threads take turns.

    ``name`` is the policy's name in errors; ``warm``, if given, may fork the process. Raises OSError if it
    cannot be started.
    """

    def __init__(
        self, name: str, command: Sequence[str], variables: Mapping[str, str], warm: WarmWorker | None = None
    ) -> None:
        self.name = name
        self._memory = unnamed_file()
        self._values = SharedValues(self._memory)
        self._log: IO[bytes] = tempfile.TemporaryFile("a+b")  # noqa: SIM115 (until `end`)
        self._splitter = LineSplitter(OPERATING_LINE_LIMIT)
        self._lines: deque[bytes] = deque()
        self._turn = threading.RLock()
        self._interrupted = False
        self._failure = ""
        self._owner = os.getpid()
        self._process = start_process(
            command,
            stderr=self._log.fileno(),
            cwd=Path(command[0]).parent,  # imported from first, so no shared folder
            env=variables,
            pass_fds=[self._memory],
            warm=None if warm is None else warm.fileno(),
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        self._readable = Readable(self._output)
        self._writable = select.poll()
        self._writable.register(self._input, select.POLLOUT)

    @property
    def pid(self) -> int:
        return self._process.pid

    def request(self, message: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
        """Send a command and return its answer; after ``seconds`` without one, end the process.

        Raises ConfigurationError for a command that cannot succeed, and MosaicError for any other error, with
        the last lines of the log if the process has ended.
        """
        with self._turn:
            until = self._ready(seconds)
            return self._answer_to(encode_line(message, OPERATING_LINE_LIMIT), until, seconds)

    def query(self, query: Mapping[str, Any], observation: Any, seconds: float | None) -> Any:
        """Return the answer to a query about observations, like `request`; arrays pass through the memory."""
        with self._turn:
            until = self._ready(seconds)
            try:
                message = {"memory": self._memory, "observation": self._values.write(observation)}
                line = encode_line({"cmd": "query", **message, **query}, OPERATING_LINE_LIMIT)
            except (TypeError, ValueError, OSError) as error:
                raise ConfigurationError(
                    f"the observations cannot be passed to {self.name}: {error}"
                ) from None
            return self._values.read(self._answer_to(line, until, seconds)["answer"])

    def end(self) -> None:
        """End the process, except from a fork of this one. Requests then fail, including one under way in
        another thread."""
        if os.getpid() != self._owner:
            return
        self._failure = self._failure or f"{self.name} is closed; {_AGAIN}"
        if self._process.poll() is None:
            send_group(self.pid, signal.SIGKILL)
            self._process.wait()
        with self._turn:
            if self._log.closed:
                return
            for pipe in (self._process.stdin, self._process.stdout, self._log):
                assert pipe is not None
                with suppress(OSError):
                    pipe.close()
            os.close(self._memory)
            del self._values  # which maps the memory

    def _ready(self, seconds: float | None) -> float | None:
        """Wait for the end of an earlier, interrupted request, then return this one's deadline as a time."""
        if os.getpid() != self._owner:
            raise MosaicError(f"{self.name} answers only the process that made it; make it in this one")
        if self._failure:
            raise MosaicError(self._failure)
        if os.fstat(self._log.fileno()).st_size > _MOST_LOG_BYTES:
            os.ftruncate(self._log.fileno(), 0)  # the process appends
        until = None if seconds is None else time.monotonic() + seconds
        if self._interrupted:
            self._send(_PING, until)
            while not self._is_pong(self._line(until, seconds)):
                pass
        self._interrupted = True
        return until

    def _answer_to(self, line: bytes, until: float | None, seconds: float | None) -> dict[str, Any]:
        self._send(line, until)
        while (answer := decode_line(self._line(until, seconds)))["type"] == "pong":
            pass  # from an interrupted wait for it
        self._interrupted = False
        if answer["type"] == "error":
            kind = ConfigurationError if answer.get("error_type") == "ConfigError" else MosaicError
            raise kind(f"{self.name}: {answer.get('message')}")
        return answer

    def _is_pong(self, line: bytes) -> bool:
        try:
            return decode_line(line).get("type") == "pong"
        except BadLine:  # the interrupt has lost a part of it
            return False

    def _send(self, line: bytes, until: float | None) -> None:
        while line:
            try:
                line = line[os.write(self._input, line) :]
            except BlockingIOError:
                if not self._writable.poll(1e3 * _poll_seconds(until)) and _is_over(until):
                    return  # as late as its answer will be
            except OSError:  # reading its output will report the end
                return

    def _line(self, until: float | None, seconds: float | None) -> bytes:
        while not self._lines:
            while not self._readable.wait(_poll_seconds(until)):
                if _is_over(until):
                    raise self._failed(f"did not answer within {seconds:g} s (deadline)")
            data = os.read(self._output, _CHUNK)
            if not data:
                raise self._failed(how_it_ended(self._process, _DYING_SECONDS))
            self._lines.extend(self._splitter.feed(data))
        return self._lines.popleft()

    def _failed(self, how: str) -> MosaicError:
        """End the process and return the error that is raised from now on."""
        if not self._failure:  # set by `end` in another thread
            self._failure = f"the process of {self.name} {how}; {_AGAIN}"
            if lines := self._log_lines():
                self._failure += ". Its last log lines:\n" + "\n".join(f"    {line}" for line in lines)
        self.end()
        return MosaicError(self._failure)

    def _log_lines(self) -> list[str]:
        size = os.fstat(self._log.fileno()).st_size
        data = os.pread(self._log.fileno(), _LOG_BYTES, max(0, size - _LOG_BYTES))
        return data.decode("utf-8", "replace").splitlines()[-_LOG_LINES:]


def _poll_seconds(until: float | None) -> float:
    return _POLL_SECONDS if until is None else min(max(0.0, until - time.monotonic()), _POLL_SECONDS)


def _is_over(until: float | None) -> bool:
    return until is not None and time.monotonic() >= until
