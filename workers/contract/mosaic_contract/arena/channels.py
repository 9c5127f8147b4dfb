"""JSON lines to and from other processes: the kernel (blocking), operators and, in the kernel, arenas (both
non-blocking)."""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from typing import Any, Mapping

from mosaic_contract.arena.errors import Abandoned, KernelDisconnected
from mosaic_contract.codec import OPERATING_LINE_LIMIT, LineSplitter, decode_line, encode_line
from mosaic_contract.errors import BadLine
from mosaic_contract.readable import Readable

_ABANDONING = ("reset", "close")
_READ_BYTES = 1 << 16  # larger buffers would be memory-mapped and released for every line
_MAX_CACHED_BYTES = 100  # bytes; commands this short, such as steps, often repeat: decoded ones are cached
_decode_cached = functools.lru_cache(maxsize=64)(decode_line)


class Incoming:
    """The reading end of a pipe. `lines` returns the received lines when the descriptor is readable."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.ended = False
        self._splitter = LineSplitter(OPERATING_LINE_LIMIT)

    @property
    def oversize(self) -> int:
        """Number of lines lost because they exceeded the limit."""
        return self._splitter.oversize

    def lines(self) -> list[bytes]:
        """Return the lines completed by one read. At the end of the stream, set `ended`."""
        try:
            data = os.read(self.descriptor, _READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:  # a terminal or a socket that broke: nothing more arrives
            data = b""
        if not data:
            self.ended = True
            return []
        return self._splitter.feed(data)


class Outgoing:
    """The writing end of a pipe. Bytes that the pipe does not accept are buffered; call `push` when it is
    writable."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.broken = False
        self.waiting = bytearray()
        os.set_blocking(descriptor, False)

    def send(self, line: bytes) -> None:
        """Write as much as the pipe accepts, after any buffered bytes."""
        if self.waiting:
            self.waiting += line
            return
        written = self._write(line)
        if written < len(line) and not self.broken:
            self.waiting += line[written:]

    def push(self) -> None:
        """Write more of the buffered bytes."""
        del self.waiting[: self._write(self.waiting)]

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self.descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.broken = True
            self.waiting.clear()
            return 0


class KernelChannel:
    """The kernel's commands and messages. Commands are returned in order of arrival."""

    def __init__(self, commands: int, messages: int) -> None:
        self.descriptor = commands
        self._messages = messages
        self._sending = threading.Lock()
        self._incoming = Incoming(commands)
        self._commands: deque[Mapping[str, Any]] = deque()
        self._readable = Readable(commands)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message, from any thread. Raises `KernelDisconnected`."""
        self.send_line(encode_line(message, OPERATING_LINE_LIMIT))

    def send_line(self, line: bytes) -> None:
        """Send an encoded message, like `send`."""
        try:
            with self._sending:
                while line:
                    line = line[os.write(self._messages, line) :]
        except OSError as error:
            raise KernelDisconnected(f"answers cannot be written: {error}") from error

    def command(self, seconds: float | None) -> Mapping[str, Any] | None:
        """Return the next command, or None after `seconds` without one (None: wait indefinitely). Raises
        `KernelDisconnected` at the end of the stream."""
        if not self._commands and self._readable.wait(seconds):
            self._read()
        return self._commands.popleft() if self._commands else None

    def read_while_waiting(self) -> list[Mapping[str, Any]]:
        """Return the received answers. Raises `Abandoned` if a command ends the waiting."""
        self._read()
        answers = [command for command in self._commands if command.get("cmd") == "answer"]
        if answers:
            remaining = [command for command in self._commands if command.get("cmd") != "answer"]
            self._commands = deque(remaining)
        self.check()
        return answers

    def received(self, name: str) -> Mapping[str, Any] | None:
        """Remove and return the next command if it has been read and has this name."""
        if self._commands and self._commands[0].get("cmd") == name:
            return self._commands.popleft()
        return None

    def check(self) -> None:
        """Raise `Abandoned` if a command that ends all waiting has arrived."""
        if self._commands and any(command.get("cmd") in _ABANDONING for command in self._commands):
            raise Abandoned

    def _read(self) -> None:
        for line in self._incoming.lines():
            try:
                short = len(line) <= _MAX_CACHED_BYTES
                self._commands.append(_decode_cached(line) if short else decode_line(line))
            except BadLine as error:
                self._commands.append({"cmd": f"a line that is {error.reason}"})
        if self._incoming.ended:
            raise KernelDisconnected("the end of the commands")
