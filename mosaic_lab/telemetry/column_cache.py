"""A cache of parsed columns in the user's cache folder, read through memory mapping.

A file contains the chunks of a stream that will not grow any more, an index, and a trailer with the position
of the index. It is written completely under a temporary name and then renamed, so that of several concurrent
writers one leaves its file. It is valid while the stream's file has the recorded inode, size and modification
time; anything else counts as missing. The least recently used files are removed when the total size exceeds a
limit.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import shutil
import struct
import tempfile
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec
import platformdirs

from mosaic_lab.keeper.files import check_inside
from mosaic_lab.telemetry.column_chunks import Chunk, MappedChunks, OpenChunk, SpilledChunks
from mosaic_lab.telemetry.progress import StreamFacts
from mosaic_lab.telemetry.stream import Health

VERSION = 3
MAX_BYTES = 4 << 30
"""Maximum total size of the cache files; a single one may use half of it."""
SYNCED_BYTES = 64 << 10
"""Size from which a file is synced to the disk before it is renamed. A smaller one is written at once."""
SPARE_BYTES = 1 << 30
"""Bytes to leave free on the disk, so that the cache never prevents a training from writing."""
ABANDONED_SECONDS = 3600.0
"""Age at which a temporary file is attributed to a process that was killed."""
USED_SECONDS = 600.0
"""Resolution of the time of last use."""
WRITES_PER_SCAN = 100
"""Number of files written between two measurements of the total size, which other processes change too."""
_SUFFIX = ".columns"
_PARTIAL = ".partial-"
_END = struct.Struct("=8sQQI")
_MAGIC = b"mosaicCL"  # in this machine's byte order, like all numbers in the file


class StreamVersion(msgspec.Struct, frozen=True):
    """The identity of a stream's content at one time, from which a cache file was made."""

    path: str
    inode: int
    size: int
    modified_ns: int


class Index(msgspec.Struct, frozen=True):
    """The index of a cache file, with the facts and the irregularities of the stream."""

    version: int
    source: StreamVersion
    names: list[str]
    facts: StreamFacts
    health: Health
    chunks: list[Chunk]


def version_of(path: Path) -> StreamVersion | None:
    """Return the identity of the current content of a stream's file; None if there is no such file, or if
    this process may not read it (`check_inside`): its cache may be of a process that may."""
    try:
        check_inside(path)
        status = os.stat(path)  # noqa: PTH116 - hundreds are checked for every chart
    except OSError:
        return None
    return StreamVersion(str(path), status.st_ino, status.st_size, status.st_mtime_ns)


def users_cache(name: str) -> Path:
    """Return a folder in the user's cache folder, or in the one in ``MOSAIC_LAB_HOME``."""
    home = os.environ.get("MOSAIC_LAB_HOME")
    base = (
        Path(home).expanduser().absolute() / "cache" if home else platformdirs.user_cache_path("mosaic-lab")
    )
    return base / name


class ColumnCache:
    """The cache files in a folder, created with the first file. Any number of processes may share it."""

    def __init__(self, folder: Path | None = None, max_bytes: int = MAX_BYTES) -> None:
        """``folder`` defaults to ``columns`` in the user's cache folder."""
        self.folder = folder or users_cache("columns")
        self._max_bytes = max_bytes
        self._free_bytes = 0  # bytes that may be written
        self._writes_since_scan = WRITES_PER_SCAN  # files written since the folder was measured

    def load(self, source: StreamVersion) -> tuple[Index, MappedChunks] | None:
        """Return the columns of a stream in its current version; None if the cache does not contain them."""
        path = self._path(source)
        try:
            with path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                unused_seconds = time.time() - os.fstat(file.fileno()).st_mtime
            index = _index(mapped)
        except (OSError, ValueError):  # missing, empty or not a cache file
            return None
        if index is None or index.source != source:
            return None
        if unused_seconds > USED_SECONDS:
            with suppress(OSError):
                os.utime(path)
        return index, MappedChunks(mapped, index.chunks)

    def keep(
        self,
        source: StreamVersion,
        names: list[str],
        facts: StreamFacts,
        health: Health,
        full: MappedChunks,
        last: OpenChunk,
    ) -> bool:
        """Store the columns of a stream that will not change. Return whether they are in the cache now."""
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            size = full.size + last.size
            if not self._free_space(size):
                return False
            handle, name = tempfile.mkstemp(prefix=_PARTIAL, dir=self.folder)
            partial = Path(name)
            try:
                with os.fdopen(handle, "wb") as file:
                    chunks = full.copy(file) if isinstance(full, SpilledChunks) else []
                    if last.rows:
                        chunks.append(last.write(file, full.size))
                    index = Index(VERSION, source, names, facts, health, chunks)
                    _finish(file, index)
                partial.replace(self._path(source))
                return True
            finally:
                partial.unlink(missing_ok=True)
        return False

    def spill(self) -> SpilledChunks:
        """Return storage for the full chunks of a stream that is still being read. Raises OSError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return SpilledChunks(self.folder)
        except OSError:
            return SpilledChunks(None)

    def _path(self, source: StreamVersion) -> Path:
        return self.folder / (hashlib.sha256(os.fsencode(source.path)).hexdigest()[:32] + _SUFFIX)

    def _free_space(self, size: int) -> bool:
        """Remove the least recently used files if needed. Return whether ``size`` bytes may be written."""
        if size > self._max_bytes // 2 or shutil.disk_usage(self.folder).free < size + SPARE_BYTES:
            return False
        if (
            size > self._free_bytes or self._writes_since_scan >= WRITES_PER_SCAN
        ):  # not every time, because it checks all files
            self._free_bytes, self._writes_since_scan = (
                self._max_bytes - self._shrink(self._max_bytes - size),
                0,
            )
        self._free_bytes, self._writes_since_scan = self._free_bytes - size, self._writes_since_scan + 1
        return True

    def _shrink(self, max_bytes: int) -> int:
        """Remove the least recently used files until ``max_bytes`` remain. Return the remaining bytes."""
        files = []
        for entry in os.scandir(self.folder):
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if entry.name.endswith(_SUFFIX):
                    files.append((status.st_mtime, status.st_size, entry.path))
                elif entry.name.startswith(_PARTIAL) and time.time() - status.st_mtime > ABANDONED_SECONDS:
                    os.unlink(entry.path)  # noqa: PTH108
        total = sum(file[1] for file in files)
        for _, size, path in sorted(files):
            if total <= max_bytes:
                break
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - existing mappings remain valid
            total -= size
        return total


def _finish(file: IO[bytes], index: Index) -> None:
    text = msgspec.json.encode(index)
    begin = file.seek(0, os.SEEK_END)
    file.write(text)
    file.write(_END.pack(_MAGIC, begin, len(text), zlib.crc32(text)))
    file.flush()
    if file.tell() >= SYNCED_BYTES:
        os.fsync(file.fileno())  # the trailer must not reach the disk before the data it refers to


def _index(mapped: mmap.mmap) -> Index | None:
    """Return the index of a cache file; None if it is invalid."""
    trailer = len(mapped) - _END.size
    if trailer < 0:
        return None
    magic, begin, length, checksum = _END.unpack_from(mapped, trailer)
    text = mapped[begin : begin + length]
    if magic != _MAGIC or begin + length != trailer or zlib.crc32(text) != checksum:
        return None
    try:
        index = msgspec.json.decode(text, type=Index)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    ok = index.version == VERSION and all(chunk.is_within(begin) for chunk in index.chunks)
    return index if ok else None
