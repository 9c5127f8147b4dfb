"""A bounded pool that keeps the columns of many runs open between requests."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mosaic_lab.runs import Run
from mosaic_lab.sanitize import sanitize
from mosaic_lab.telemetry.column_cache import ColumnCache
from mosaic_lab.telemetry.columns import RunColumns

MAX_OPEN = 256
"""Maximum number of runs with open columns. Each takes one or two file descriptors; a live run takes a few
megabytes."""
READ_SECONDS = 0.5
"""Time limit for parsing in one request."""
FIRST_BYTES = 64 << 10
"""Bytes read of each run even if the time limit is exceeded."""


@dataclass
class Reading:
    """The progress of reading the runs of a request."""

    size: int = 0
    unread: int = 0
    problems: list[str] = field(default_factory=list)
    """A sentence for each run that cannot be read."""

    @property
    def fraction(self) -> float:
        """The fraction of the files' bytes that has been read, 0 to 1."""
        return 1 - self.unread / self.size if self.unread else 1.0


class ColumnPool:
    """The columns of the most recently requested runs. Thread-safe."""

    def __init__(self, cache: ColumnCache | None = None) -> None:
        """Create a pool; the default ``cache`` is the user's."""
        self._cache = cache or ColumnCache()
        self._open: OrderedDict[Path, RunColumns] = OrderedDict()
        self._lock = threading.Lock()

    def columns(
        self, runs: Sequence[Run], reading: Reading, seconds: float = READ_SECONDS
    ) -> Iterator[tuple[Run, RunColumns]]:
        """Yield each readable run with its updated columns, one at a time.

        Parsing takes about ``seconds``. After that, only a small part of each further run is read, and
        ``reading`` reports the remaining part. The next request continues from there.
        """
        deadline = time.monotonic() + seconds
        for run in runs:
            columns = self._columns(run.path)
            try:
                unread = columns.read(lambda run=run: not run.alive, FIRST_BYTES)  # type: ignore[misc]
                while unread and time.monotonic() < deadline:
                    unread = columns.read(lambda run=run: not run.alive)  # type: ignore[misc]
            except Exception as error:  # an error in one run's files must not affect the others
                reading.problems.append(sanitize(f"{run.label} ({run.id}) cannot be read: {error}"))
                continue
            reading.size += columns.size
            reading.unread += columns.unread
            yield run, columns

    def _columns(self, folder: Path) -> RunColumns:
        with self._lock:
            columns = self._open.pop(folder, None) or RunColumns(folder, self._cache)
            self._open[folder] = columns
            if len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)
            return columns
