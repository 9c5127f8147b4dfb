"""Follow a file of lines that another process is still writing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mosaic_contract.codec import DEFAULT_LINE_LIMIT, LineSplitter

from mosaic_lab.keeper.files import open_file
from mosaic_lab.telemetry.decoding import Health, line_count

TEXT_BYTES = 120_000
"""Bytes read per text. For larger ones the allocator requests pages that the system must clear each time, and
their decoded messages exceed the processor's cache."""


class JsonlFollower:
    """Reads a growing file of lines a bounded number of bytes at a time.

    The file may not exist yet, or be deleted, truncated or replaced: reading continues, and ``health`` and
    ``missing`` report it. ``line_limit`` is the maximum length of a line in bytes; longer lines are counted
    in ``health.oversize`` and never kept in memory. An incomplete last line is returned once its newline
    arrives.
    """

    def __init__(self, path: Path | str, line_limit: int = DEFAULT_LINE_LIMIT) -> None:
        self.path = Path(path)
        self.offset = 0
        """Number of bytes read so far."""
        self.health = Health()
        self.missing = False
        """Whether the file has been deleted."""
        self.behind = False
        """Whether the last poll left bytes unread."""
        self._line_limit = line_limit
        self._splitter = LineSplitter(line_limit)
        self._oversize_before = 0
        self._file: BinaryIO | None = None
        self._identity: tuple[int, int] | None = None

    @property
    def inode(self) -> int | None:
        """The inode of the file that was read; None before the first."""
        return self._identity[1] if self._identity else None

    def poll(self, max_bytes: int = TEXT_BYTES) -> list[bytes]:
        """Return complete lines from at most the next ``max_bytes`` bytes; empty if there is nothing new.

        Raises OSError if the file exists but cannot be read.
        """
        return [line for line in self.poll_text(max_bytes).split(b"\n") if line]

    def poll_text(self, max_bytes: int = TEXT_BYTES) -> bytes:
        """Return the same lines with their newlines, as one text, which may also have empty lines."""
        try:
            status: os.stat_result | None = os.stat(self.path)  # noqa: PTH116 - called very often
        except (FileNotFoundError, NotADirectoryError):
            status = None
        identity = (status.st_dev, status.st_ino) if status else None
        if self._file is not None and identity != self._identity:
            # Read the rest of the old file before closing it.
            if self.offset < os.fstat(self._file.fileno()).st_size:
                return self._read(max_bytes)
            self.close()
            self.missing = status is None
        if status is None:
            return b""
        if self._file is None:
            self.missing = False
            if identity != self._identity or status.st_size != self.offset:  # else nothing is new
                self._open(status)
        elif status.st_size < self.offset:
            self._restart()
        if status.st_size == self.offset:
            self.behind = False
            return b""
        return self._read(max_bytes)

    def poll_texts(self, max_bytes: int) -> Iterator[bytes]:
        """Yield the lines of at most the next ``max_bytes`` bytes, as one string per `TEXT_BYTES`. If the
        file was replaced or truncated, the first string starts the new one. Raises OSError as `poll` does."""
        yield self.poll_text(min(max_bytes, TEXT_BYTES))
        for done in range(TEXT_BYTES, max_bytes, TEXT_BYTES):
            if self._file is None or not self.behind:
                return
            try:
                yield self._read(min(max_bytes - done, TEXT_BYTES))
            except OSError:  # the next poll raises it, so that the texts before are not lost
                return

    def lines(self) -> Iterator[bytes]:
        """Return the lines up to the current end of the file, then close it. Raises OSError as `poll`
        does."""
        return (line for text in self.texts() for line in text.split(b"\n") if line)

    def texts(self) -> Iterator[bytes]:
        """Return the same lines in texts, one for each `poll_text`."""
        while True:
            yield self.poll_text()
            if not self.behind:
                return self.close()

    def close(self) -> None:
        """Close the file. A later poll opens it again at the current offset."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self, status: os.stat_result) -> None:
        self._file = open_file(self.path, buffering=0)
        opened = os.fstat(self._file.fileno())
        identity = (opened.st_dev, opened.st_ino)
        if (self._identity is not None and identity != self._identity) or status.st_size < self.offset:
            self._restart()
        self._identity = identity

    def _restart(self) -> None:
        self.offset = 0
        self._splitter = LineSplitter(self._line_limit)
        self._oversize_before = self.health.oversize
        self.health.replaced += 1

    def _read(self, max_bytes: int) -> bytes:
        assert self._file is not None
        data = os.pread(self._file.fileno(), max_bytes, self.offset)
        self.offset += len(data)
        self.behind = self.offset < os.fstat(self._file.fileno()).st_size
        text = self._splitter.text(data)
        self.health.oversize = self._oversize_before + self._splitter.oversize
        self.health.lines += line_count(text)
        return text if text.isascii() else self._valid(text)

    def _valid(self, text: bytes) -> bytes:
        """Return the lines that are UTF-8."""
        try:
            text.decode()
        except UnicodeDecodeError:
            lines = text.split(b"\n")
            valid = [line for line in lines if line.decode(errors="ignore").encode() == line]
            self.health.invalid_utf8 += len(lines) - len(valid)
            return b"\n".join(valid)
        return text
