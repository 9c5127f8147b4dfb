"""All metric points of a run as columns for charts, parsed once and extended while the run is alive."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mosaic_lab.telemetry.column_cache import ColumnCache, StreamVersion, version_of
from mosaic_lab.telemetry.column_chunks import MappedChunks, OpenChunk, Piece, SpilledChunks
from mosaic_lab.telemetry.metrics import RETURN_NAMES, ReturnMeans
from mosaic_lab.telemetry.progress import RunClock, StreamFacts, Values
from mosaic_lab.telemetry.stream import Health, JsonlFollower, parse_text

BYTES_PER_READ = 1 << 20
"""Maximum bytes per read, about ten milliseconds of work."""
T = TypeVar("T")
MAX_NAMES = 1024
"""Maximum metric names per stream; values of further names are counted in ``health.dropped_values``."""
MAX_NAME_LENGTH = 500
"""Maximum length of a name; longer ones are dropped in the same way."""


class RunColumns:
    """All metric points of a run, including the keeper's system metrics and the evaluations
    of its checkpoints.

    `read` updates them in bounded slices; all other methods return data already read. Once a run has ended
    and is read completely, its columns are stored in the cache and memory-mapped. The memory of a live run is
    bounded: its newest 16,384 lines or 262,144 values are kept in memory, older ones in an anonymous
    memory-mapped file in the cache folder. Nothing is written to the run folder. Thread-safe.
    """

    def __init__(self, folder: Path, cache: ColumnCache) -> None:
        """``folder`` is a resolved path."""
        self._worker = _Stream(folder / "telemetry.jsonl", cache)
        self._system = _Stream(folder / "system.jsonl", cache)
        self._evaluations = _Stream(folder / "evaluations.jsonl", cache)
        self._side_streams = (self._system, self._evaluations)
        self._streams = (self._worker, *self._side_streams)
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """All metrics, in order of appearance."""
        return list(dict.fromkeys(name for stream in self._streams for name in stream.counts))

    def count(self, name: str) -> int:
        """Return the number of points of a metric."""
        return sum(stream.counts.get(name, 0) for stream in self._streams)

    @property
    def facts(self) -> StreamFacts:
        """The facts of the worker's stream."""
        return self._worker.facts

    @property
    def unread(self) -> int:
        """Bytes not yet read after the last `read`."""
        return sum(stream.unread for stream in self._streams)

    @property
    def size(self) -> int:
        """Total bytes of the files at the last `read`."""
        return sum(stream.size for stream in self._streams)

    @property
    def missing(self) -> bool:
        """Whether the worker's file has been deleted."""
        return self._worker.follower.missing

    @property
    def position(self) -> Hashable:
        """A value that changes with the worker's stream."""
        worker = self._worker
        return worker.follower.offset, worker.follower.missing, worker.health.replaced, worker.settled

    @property
    def health(self) -> Health:
        """Counts of irregularities in the worker's stream, and of the keeper's missed measurements."""
        return replace(self._worker.health, missed_by_keeper=self._system.health.missed_by_keeper)

    def read(self, ended: Callable[[], bool], max_bytes: int = BYTES_PER_READ) -> bool:
        """Read at most ``max_bytes`` new bytes of each file, and close it. Return whether more is `unread`.

        ``ended`` is called when everything has been read. If it returns True (nothing more will be written),
        the columns are cached. Raises OSError if a file exists but cannot be read, or if no file can be
        created for data that exceeds the memory limit.
        """
        try:
            self.read_worker(ended, max_bytes)
            self.read_beside(ended, max_bytes)
        finally:
            self.close()  # hundreds of runs may be read at the same time
        return self.unread > 0

    def read_worker(self, ended: Callable[[], bool], max_bytes: int = BYTES_PER_READ) -> None:
        """Read the worker's file as `read` does, and keep it open."""
        with self._lock:
            self._worker.read(ended, max_bytes)

    def read_beside(self, ended: Callable[[], bool], max_bytes: int = BYTES_PER_READ) -> None:
        """Read the other files, of the keeper and of evaluations, as `read` does, and keep them open. The
        worker's first line is the zero of the time axis, so a live run's files are read from then on."""
        clock = self._worker.facts.progress.clock
        if clock.zero is not None or ended():
            with self._lock:
                for stream in self._side_streams:
                    stream.read(ended, max_bytes, clock)

    def pieces(self, name: str) -> list[Piece]:
        """Return the points of a metric in order of writing; empty for an unknown metric."""
        with self._lock:
            return [piece for stream in self._streams for piece in stream.pieces(name)]

    def pieces_by_stream(self, names: Sequence[str]) -> list[list[tuple[str, Piece]]]:
        """Return the points of metrics, with their names, in a list for each file."""
        with self._lock:
            return [
                [(name, piece) for name in names for piece in stream.pieces(name)] for stream in self._streams
            ]

    def reduced(self, name: str, reduce: Callable[[Piece], T], key: Hashable) -> list[T]:
        """Return ``reduce(piece)`` of each piece of a metric.

        The results of pieces that will not change are kept, so that the cost does not grow with the run.
        ``key`` identifies ``reduce``.
        """
        with self._lock:
            return [piece for stream in self._streams for piece in stream.reduced(name, reduce, key)]

    def release(self) -> None:
        """Return the memory of mapped columns to the system; they are read again when they are used."""
        with self._lock:
            for stream in self._streams:
                stream.release()

    def close(self) -> None:
        """Close the files. A later read continues where this one stopped."""
        with self._lock:
            for stream in self._streams:
                stream.follower.close()


class _Stream:
    """The columns of one file."""

    def __init__(self, path: Path, cache: ColumnCache) -> None:
        self.path = path
        self.size = 0
        self.unread = 0
        self.settled: StreamVersion | None = None
        """The file as it was when it was mapped, or could not be cached."""
        self._read_version: StreamVersion | None = None  # the file as it was when it was read completely
        self._cache = cache
        self._open()

    def read(self, ended: Callable[[], bool], max_bytes: int, clock: RunClock | None = None) -> None:
        """Read new lines. ``clock`` is the clock of the worker, if this is another stream."""
        source = version_of(self.path)
        if source is not None:
            if source == self.settled or (source == self._read_version and not ended()):
                self.unread = 0
                return
            if self.settled is not None:
                self._open()
            self.size = source.size
            if not self.follower.offset and self._load(source):
                return
        elif self.settled is not None:  # the columns of a deleted file are kept
            self.unread = 0
            return
        self._spill_full_chunk()
        texts = list(filter(None, self.follower.poll_texts(max_bytes)))
        if self.health.replaced != self._replaced:
            self._clear()
        if texts:
            self._process(texts, clock)
        self.unread = 0 if source is None else max(0, source.size - self.follower.offset)
        if source is not None and (self.follower.inode, self.follower.offset) == (source.inode, source.size):
            self._read_version = source
            if ended() and version_of(self.path) == source:
                self._store_in_cache(source)

    @property
    def health(self) -> Health:
        return self.follower.health

    def pieces(self, name: str) -> Iterator[Piece]:
        yield from self._full.pieces(name)
        if (last := self._last.piece(name, self._full.rows)) is not None:
            yield last

    def reduced(self, name: str, reduce: Callable[[Piece], T], key: Hashable) -> Iterator[T]:
        yield from self._full.reduced(name, reduce, key)
        if (last := self._last.piece(name, self._full.rows)) is not None:
            yield reduce(last)

    def release(self) -> None:
        self._full.release()

    def _open(self) -> None:
        self.settled = self._read_version = None
        self.follower = JsonlFollower(self.path)
        self._clear()

    def _clear(self) -> None:
        self.counts: dict[str, int] = {}
        """The number of points by metric. Replaced rather than modified, because other threads read it."""
        self.facts = StreamFacts()
        self._full = MappedChunks(None, [])
        self._last = OpenChunk()
        self._replaced = self.health.replaced

    def _load(self, source: StreamVersion) -> bool:
        cached = self._cache.load(source)
        if cached is None:
            return False
        index, self._full = cached
        self.facts, self.follower.health = index.facts, index.health
        self.counts = {name: self._full.count(name) for name in index.names}
        self._last = OpenChunk()
        self.settled, self.unread = source, 0
        return True

    def _store_in_cache(self, source: StreamVersion) -> None:
        self.settled = source
        self.follower.close()
        if self._cache.keep(source, list(self.counts), self.facts, self.health, self._full, self._last):
            self._load(source)

    def _spill_full_chunk(self) -> None:
        if self._last.full:
            if not isinstance(self._full, SpilledChunks):
                self._full = self._cache.spill()
            self._full.append(self._last)
            self._last = OpenChunk()

    def _process(self, texts: list[bytes], clock: RunClock | None) -> None:
        facts = self.facts
        reported = _Values()
        rows = facts.process((parse_text(text, self.health) for text in texts), reported.add)
        if clock is not None and clock.zero is not None:
            rows[3] = np.where(np.isnan(rows[2]), rows[3], clock.since_start(rows[2]))
        columns = list(reported.columns(self.counts, self.health))
        if columns:
            self._last.extend(rows, columns)
            added = {name: self.counts.get(name, 0) + len(values) for name, _, values in columns}
            self.counts = {**self.counts, **added}
        for name, _, values in columns:
            if name in RETURN_NAMES:
                facts.returns.setdefault(name, ReturnMeans()).add(values)


class _Values:
    """The values of rows of metrics, by metric."""

    def __init__(self) -> None:
        self._code_of: defaultdict[str, int] = defaultdict(count().__next__)
        self._arrays: list[tuple[NDArray[np.intp], NDArray[np.uint32], NDArray[np.float64]]] = []

    def add(self, rows: Sequence[Values]) -> None:
        # Whole arrays take a quarter less time than a loop over the values.
        codes = np.fromiter(map(self._code_of.__getitem__, chain.from_iterable(rows)), np.uint32)
        # NumPy parses the strings that represent NaN and infinities.
        values = np.fromiter(chain.from_iterable(map(dict.values, rows)), np.float64, len(codes))
        self._arrays.append((np.fromiter(map(len, rows), np.intp, len(rows)), codes, values))

    def columns(
        self, existing: Collection[str], health: Health
    ) -> Iterator[tuple[str, NDArray[np.uint32], NDArray[np.float64]]]:
        """Yield each metric's name, the rows of its values (uint32[k]) and the values (float64[k]).

        Names that are neither ``existing`` nor within the limits are dropped and counted in ``health``.
        """
        lengths, codes, values = map(np.concatenate, zip(*self._arrays, strict=True))
        index = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
        points_by_name = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
        names = len(existing)
        for name, points in zip(self._code_of, points_by_name, strict=False):
            if name not in existing:
                if names >= MAX_NAMES or len(name) > MAX_NAME_LENGTH:
                    health.dropped_values += len(points)
                    continue
                names += 1
            yield name, index[points], values[points]
