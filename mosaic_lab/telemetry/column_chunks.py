"""Columns of metric points in chunks: the last one grows in memory, full ones are in a memory-mapped file.

A chunk contains rows, one per line of telemetry (step, episodes ended so far, Unix timestamp, seconds since
the run's start), and for each metric its values and their row numbers. Numbers are in this machine's byte
order.
"""

from __future__ import annotations

import mmap
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

CHUNK_ROWS = 1 << 14
"""Maximum rows of a chunk, except for those added by the last slice of the file."""
CHUNK_VALUES = 1 << 18
"""Maximum total values of a chunk."""
MAX_REDUCED = 16
"""Maximum number of curves of full chunks kept in memory, those drawn last."""

Floats = NDArray[np.float64]
Rows = NDArray[np.uint32]
_ROWS = 4
_STEP, _EPISODE, _TIME, _SECONDS = range(_ROWS)
T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class Piece:
    """Consecutive points of one metric. Each column is float64[n]; ``time`` is NaN if a line has none."""

    value: Floats
    _first: int
    """The number of rows in earlier chunks."""
    _rows: Floats
    _index: Rows | None
    """The row of each value; None if every row has a value."""

    @property
    def row(self) -> NDArray[np.int64]:
        """The row of each point in its file."""
        index = np.arange(len(self.value)) if self._index is None else self._index
        return self._first + index.astype(np.int64)

    @property
    def step(self) -> Floats:
        """The step of each point."""
        return self._column(_STEP)

    @property
    def episode(self) -> Floats:
        """The number of episodes ended at each point."""
        return self._column(_EPISODE)

    @property
    def time(self) -> Floats:
        """The time of each point in Unix seconds."""
        return self._column(_TIME)

    @property
    def seconds(self) -> Floats:
        """The time of each point in seconds since the run's start, by the run's own clock."""
        return self._column(_SECONDS)

    def _column(self, row: int) -> Floats:
        column: Floats = self._rows[row]
        # A damaged file may yield wrong rows, but must not raise an error while drawing.
        return column if self._index is None else column.take(self._index, mode="clip")


class Column(msgspec.Struct, frozen=True, gc=False):
    """The position of a metric's values in the file, followed by their row numbers unless every row has a
    value."""

    begin: int
    count: int


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """The position of a chunk in the file: float64[4, rows] at ``begin``, and its columns."""

    begin: int
    rows: int
    columns: dict[str, Column]

    @property
    def end(self) -> int:
        """The end of the chunk, where the next one may begin."""
        rows_end = self.begin + 8 * _ROWS * self.rows
        return max([rows_end, *(_end(column, self.rows) for column in self.columns.values())])

    def is_within(self, size: int) -> bool:
        """Return whether the chunk is within the first ``size`` bytes."""
        begins = [self.begin, *(column.begin for column in self.columns.values())]
        counts = [self.rows, *(column.count for column in self.columns.values())]
        return (
            all(begin >= 0 and begin % 8 == 0 for begin in begins)
            and all(0 < count <= self.rows for count in counts)
            and self.end <= size
        )


class _GrowableArray:
    """Arrays of numbers that grow at the end; earlier views remain valid."""

    def __init__(self, rows: int, dtype: type[np.generic]) -> None:
        self._buffer: NDArray[Any] = np.empty((rows, 64), dtype)
        self.length = 0

    def extend(self, new: NDArray[Any]) -> None:
        """Append numbers, [rows, n]."""
        begin, self.length = self.length, self.length + new.shape[-1]
        if self.length > self._buffer.shape[1]:
            larger = np.empty((len(new), max(self.length, 2 * begin)), self._buffer.dtype)
            larger[:, :begin] = self._buffer[:, :begin]
            self._buffer = larger
        self._buffer[:, begin : self.length] = new

    @property
    def numbers(self) -> NDArray[Any]:
        """All numbers, [rows, n]."""
        return self._buffer[:, : self.length]


class OpenChunk:
    """The newest points, in memory."""

    def __init__(self) -> None:
        self._rows = _GrowableArray(_ROWS, np.float64)
        self._columns: dict[str, tuple[_GrowableArray, _GrowableArray]] = {}
        self.values = 0

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._rows.length

    @property
    def full(self) -> bool:
        return self.rows >= CHUNK_ROWS or self.values >= CHUNK_VALUES

    def extend(self, rows: Floats, columns: Iterable[tuple[str, Rows, Floats]]) -> None:
        """Append rows (float64[4, n]) with the values of their metrics and the indices of these values in the
        rows."""
        for name, index, values in columns:
            if name not in self._columns:
                self._columns[name] = _GrowableArray(1, np.uint32), _GrowableArray(1, np.float64)
            indices, column = self._columns[name]
            indices.extend(index[np.newaxis] + np.uint32(self.rows))
            column.extend(values[np.newaxis])
            self.values += len(values)
        self._rows.extend(rows)

    @property
    def size(self) -> int:
        """Bytes that `write` needs, or slightly fewer."""
        return 8 * _ROWS * self.rows + 12 * self.values

    def piece(self, name: str, first: int) -> Piece | None:
        """Return the points of a metric in the chunk, which follows ``first`` rows; None if it has none."""
        if name not in self._columns:
            return None
        indices, values = self._columns[name]
        index = None if values.length == self.rows else indices.numbers[0]
        return Piece(values.numbers[0], first, self._rows.numbers, index)

    def write(self, file: IO[bytes], begin: int) -> Chunk:
        """Write the chunk at ``begin`` of a file and return its position. Raises OSError."""
        file.seek(begin)
        position = begin + file.write(self._rows.numbers.tobytes())
        columns = {}
        for name, (indices, values) in self._columns.items():
            columns[name] = column = Column(position, values.length)
            position += file.write(values.numbers.tobytes())
            if column.count != self.rows:
                position += file.write(indices.numbers.tobytes())
                position += file.write(bytes(-position % 8))
        file.flush()
        return Chunk(begin, self.rows, columns)


class MappedChunks:
    """Chunks in a memory-mapped file. Returned pieces remain valid after this object is released."""

    def __init__(self, mapped: mmap.mmap | None, chunks: list[Chunk]) -> None:
        self._mapped = mapped
        self.chunks = chunks
        self._reduced: OrderedDict[Hashable, list[Any]] = OrderedDict()

    @property
    def size(self) -> int:
        """Bytes of the chunks, which are at the beginning of the file."""
        return self.chunks[-1].end if self.chunks else 0

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(chunk.rows for chunk in self.chunks)

    def count(self, name: str) -> int:
        """Return the number of points of a metric."""
        return sum(chunk.columns[name].count for chunk in self.chunks if name in chunk.columns)

    def pieces(self, name: str, first: int = 0) -> Iterator[Piece]:
        """Yield the points of a metric in order of writing, from the ``first`` piece on."""
        earlier_rows = accumulate((chunk.rows for chunk in self.chunks), initial=0)
        chunks = [pair for pair in zip(self.chunks, earlier_rows, strict=False) if name in pair[0].columns]
        for chunk, first_row in chunks[first:]:
            column = chunk.columns[name]
            rows = self._floats(chunk.begin, _ROWS * chunk.rows).reshape(_ROWS, chunk.rows)
            index = None if column.count == chunk.rows else self._index(column)
            yield Piece(self._floats(column.begin, column.count), first_row, rows, index)

    def reduced(self, name: str, reduce: Callable[[Piece], T], key: Hashable) -> list[T]:
        """Return ``reduce(piece)`` of each piece of a metric.

        Results are kept for the last 16 combinations of metric and ``key``, which identifies ``reduce``.
        """
        results: list[T] = self._reduced.setdefault((name, key), [])
        self._reduced.move_to_end((name, key))
        if len(self._reduced) > MAX_REDUCED:
            self._reduced.popitem(last=False)
        results.extend(map(reduce, self.pieces(name, len(results))))
        return results

    def release(self) -> None:
        """Return the pages that were read to the system; they are read again when they are used."""
        if self._mapped is not None:
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def _floats(self, begin: int, count: int) -> Floats:
        assert self._mapped is not None
        return np.frombuffer(self._mapped, np.float64, count, begin)

    def _index(self, column: Column) -> Rows:
        assert self._mapped is not None
        return np.frombuffer(self._mapped, np.uint32, column.count, column.begin + 8 * column.count)


class SpilledChunks(MappedChunks):
    """Chunks in an anonymous file, deleted with its last user."""

    def __init__(self, folder: Path | None) -> None:
        """Create the file in ``folder``; None is the system's folder for temporary files. Raises OSError."""
        super().__init__(None, [])
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with this object

    def append(self, chunk: OpenChunk) -> None:
        """Append a chunk. Raises OSError, leaving the other chunks unchanged."""
        chunk_position = chunk.write(self._file, self.size)
        self._mapped = mmap.mmap(self._file.fileno(), chunk_position.end, access=mmap.ACCESS_READ)
        self.chunks.append(chunk_position)

    def copy(self, file: IO[bytes]) -> list[Chunk]:
        """Copy all chunks to another, empty file and return their positions. Raises OSError."""
        # Not through the mapping, whose pages would count as memory of this process.
        self._file.seek(0)
        shutil.copyfileobj(self._file, file, 1 << 20)
        return list(self.chunks)


def _end(column: Column, rows: int) -> int:
    end = column.begin + 8 * column.count
    return end if column.count == rows else end + (4 * column.count + 7) // 8 * 8
