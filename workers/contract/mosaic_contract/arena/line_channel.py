"""Lines to and from another process, over descriptors that one poll watches. Only `post` may block."""

from __future__ import annotations

import os
from typing import Any, Mapping

from mosaic_contract.arena.errors import KernelGone
from mosaic_contract.codec import OPERATING_LINE_LIMIT, LineSplitter, encode_line

READ_BYTES = 1 << 16  # more would be memory mapped and given back at every line


class Incoming:
    """The reading end: `lines` gives those that have come, when the descriptor is readable."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.ended = False
        self._splitter = LineSplitter(OPERATING_LINE_LIMIT)

    @property
    def oversize(self) -> int:
        """Lines that were longer than the limit, and are lost."""
        return self._splitter.oversize

    def lines(self) -> list[bytes]:
        """The lines that one read completes. At the end of the stream there are none, and `ended` is set."""
        try:
            data = os.read(self.descriptor, READ_BYTES)
        except OSError:  # a terminal or a socket that broke: no more will come
            data = b""
        if not data:
            self.ended = True
            return []
        return self._splitter.feed(data)


class Outgoing:
    """The writing end of a pipe: what the pipe does not take at once waits here; `push` when it is
    writable."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.broken = False
        self.waiting = bytearray()
        os.set_blocking(descriptor, False)

    def send(self, line: bytes) -> None:
        """Write as much as there is room for, after what waits."""
        if self.waiting:
            self.waiting += line
            return
        written = self._write(line)
        if written < len(line) and not self.broken:
            self.waiting += line[written:]

    def push(self) -> None:
        """Write more of what waits."""
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


def post(descriptor: int, message: Mapping[str, Any]) -> None:
    """Write one message to the kernel. Raises `KernelGone` where the kernel reads no more."""
    line = encode_line(message, OPERATING_LINE_LIMIT)
    try:
        while line:
            line = line[os.write(descriptor, line) :]
    except OSError as error:
        raise KernelGone(f"answers cannot be written: {error}") from error
