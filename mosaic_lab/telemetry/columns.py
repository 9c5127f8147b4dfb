"""All metric points of a run as columns for charts, parsed once and extended while the run is alive."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from mosaic_lab.keeper.events import EPISODE, HEARTBEAT, METRICS
from mosaic_lab.telemetry.batch import Batch
from mosaic_lab.telemetry.column_cache import ColumnCache, StreamVersion, version_of
from mosaic_lab.telemetry.column_chunks import MappedChunks, OpenChunk, Piece, SpilledChunks
from mosaic_lab.telemetry.decoding import Health, parse
from mosaic_lab.telemetry.follower import JsonlFollower
from mosaic_lab.telemetry.progress import EpisodeCount, StepProgress

BYTES_PER_READ = 1 << 20
"""Maximum bytes per read, about ten milliseconds of work."""
STREAMS = ("telemetry.jsonl", "system.jsonl")
"""Files of a run folder with metrics: the worker's, and the system's."""


class RunColumns:
    """All metric points of a run, including system metrics. Names are the same as in the live chart.

    `read` updates them in bounded slices; all other methods return data already read. Once a run has ended
    and is read completely, its columns are stored in the cache and memory-mapped. The memory of a live run is
    bounded: its newest 32,768 lines or 262,144 values are kept in memory, older ones in an anonymous
    memory-mapped file in the cache folder. Nothing is written to the run folder. Thread-safe.
    """

    def __init__(self, folder: Path, cache: ColumnCache) -> None:
        """``folder`` is a resolved path."""
        self._streams = [_Stream(folder / name, cache) for name in STREAMS]
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """All metrics, in order of appearance."""
        return list(dict.fromkeys(name for stream in self._streams for name in stream.names))

    @property
    def start(self) -> float | None:
        """The Unix time of the run's first line; None if no line has one."""
        return next((stream.start for stream in self._streams if stream.start is not None), None)

    @property
    def progress(self) -> StepProgress:
        """The run's progress; its speed only while it is read, not for columns from the cache."""
        return self._streams[0].progress

    @property
    def unread(self) -> int:
        """Bytes not yet read after the last `read`."""
        return sum(stream.unread for stream in self._streams)

    @property
    def size(self) -> int:
        """Total bytes of the files at the last `read`."""
        return sum(stream.size for stream in self._streams)

    @property
    def health(self) -> Health:
        """Counts of irregularities in the worker's stream; all zero for columns from the cache."""
        return self._streams[0].health

    def read(self, ended: Callable[[], bool], max_bytes: int = BYTES_PER_READ) -> bool:
        """Read at most ``max_bytes`` new bytes of each file. Return whether more is `unread`.

        ``ended`` is called when everything has been read. If it returns True (nothing more will be written),
        the columns are cached. Raises OSError if a file exists but cannot be read, or if no file can be
        created for data that exceeds the memory limit.
        """
        with self._lock:
            for stream in self._streams:
                stream.read(ended, max_bytes)
            return self.unread > 0

    def pieces(self, name: str) -> list[Piece]:
        """Return the points of a metric in order of writing; empty for an unknown metric."""
        with self._lock:
            return [piece for stream in self._streams for piece in stream.pieces(name)]


class _Stream:
    """The columns of one file."""

    def __init__(self, path: Path, cache: ColumnCache) -> None:
        self.path = path
        self.size = 0
        self.unread = 0
        self._cache = cache
        self._settled: StreamVersion | None = (
            None  # the file as it was when it was mapped, or could not be cached
        )
        self._begin()

    def read(self, ended: Callable[[], bool], max_bytes: int) -> None:
        source = version_of(self.path)
        if source is None or source == self._settled:  # data read from a deleted file is kept
            self.unread = 0
            return
        if self._settled is not None:
            self._begin()
        self.size = source.size
        if not self._follower.offset and self._load(source):
            return
        self._make_room()
        lines = self._follower.poll(max_bytes)
        if self.health.replaced != self._replaced:
            self._forget()
        if lines:
            self._take(lines)
        self._follower.close()  # hundreds of runs may be read at the same time
        self.unread = max(0, source.size - self._follower.offset)
        if self._follower.offset == source.size and ended() and version_of(self.path) == source:
            self._keep(source)

    @property
    def health(self) -> Health:
        return self._follower.health

    def pieces(self, name: str) -> Iterator[Piece]:
        yield from self._full.pieces(name)
        if (last := self._last.piece(name)) is not None:
            yield last

    def _begin(self) -> None:
        self._settled = None
        self._follower = JsonlFollower(self.path)
        self._forget()

    def _forget(self) -> None:
        self.names: dict[str, None] = {}
        self.start: float | None = None
        self._full = MappedChunks(None, [])
        self._last = OpenChunk()
        self.progress = StepProgress()
        self._episodes = EpisodeCount()
        self._replaced = self._follower.health.replaced

    def _load(self, source: StreamVersion) -> bool:
        found = self._cache.load(source)
        if found is None:
            return False
        index, self._full = found
        self.names, self.start = dict.fromkeys(index.names), index.start
        self.progress.step, self.progress.first = index.step, index.first
        self._last = OpenChunk()
        self._settled, self.unread = source, 0
        return True

    def _keep(self, source: StreamVersion) -> None:
        self._settled = source
        if self._cache.keep(source, list(self.names), self.start, self.progress, self._full, self._last):
            self._load(source)

    def _make_room(self) -> None:
        if self._last.full:
            if not isinstance(self._full, SpilledChunks):
                self._full = self._cache.spill()
            self._full.append(self._last)
            self._last = OpenChunk()

    def _take(self, lines: list[bytes]) -> None:
        batch = Batch()
        for line in lines:
            message = parse(line, self.health)
            if message is None:
                continue
            time, payload = message.timestamp, message.payload
            self.progress.take(message)
            if self.start is None:
                self.start = time
            if message.event == METRICS:
                assert payload is not None and payload.values is not None  # ensured by parse()
                self._episodes.at_least(payload.episode)  # the system's stream has no episodes
                at = math.nan if time is None else time
                batch.add(self.progress.row_step, self._episodes.ended, at, payload.values)
            elif message.event == HEARTBEAT and payload is not None:
                self._episodes.at_least(payload.episode)
            elif message.type == EPISODE:
                self._episodes.observe(message)
        columns = list(batch.columns(self.names, self.health))
        self.names.update(dict.fromkeys(name for name, _, _ in columns))
        if len(batch):
            self._last.extend(batch.rows(), columns)
