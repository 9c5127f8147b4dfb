"""The columns of many runs, kept open between requests, within bounds."""

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

MOST_OPEN = 256
"""Runs whose columns stay open: each takes one or two file descriptors, a live one a few megabytes."""
READ_SECONDS = 0.5
"""Time that one request may spend on parsing."""
FIRST_BYTES = 64 << 10
"""Read of each run, however much there is to read of all."""


@dataclass
class Reading:
    """How far the runs of a request are read."""

    size: int = 0
    unread: int = 0
    problems: list[str] = field(default_factory=list)
    """A sentence for each run that cannot be read."""

    @property
    def fraction(self) -> float:
        """The part of the files that is read, 0 to 1."""
        return 1 - self.unread / self.size if self.unread else 1.0


class ColumnPool:
    """The columns of the runs that were requested last. Safe in any thread."""

    def __init__(self, cache: ColumnCache | None = None) -> None:
        """``cache``: without one, that of the user."""
        self._cache = cache or ColumnCache()
        self._open: OrderedDict[Path, RunColumns] = OrderedDict()
        self._lock = threading.Lock()

    def columns(
        self, runs: Sequence[Run], reading: Reading, seconds: float = READ_SECONDS
    ) -> Iterator[tuple[Run, RunColumns]]:
        """Yield each run that can be read with its columns, one at a time, brought up to date.

        Parsing takes about ``seconds``: then of every further run a little is read, and ``reading`` reports
        how much is unread. The next request reads on.
        """
        deadline = time.monotonic() + seconds
        for run in runs:
            columns = self._columns(run.path)
            try:
                more = columns.read(lambda run=run: not run.alive, FIRST_BYTES)  # type: ignore[misc]
                while more and time.monotonic() < deadline:
                    more = columns.read(lambda run=run: not run.alive)  # type: ignore[misc]
            except Exception as error:  # of this run alone, whatever its files hold
                reading.problems.append(sanitize(f"{run.label} ({run.id}) cannot be read: {error}"))
                continue
            reading.size += columns.size
            reading.unread += columns.unread
            yield run, columns

    def _columns(self, folder: Path) -> RunColumns:
        with self._lock:
            columns = self._open.pop(folder, None) or RunColumns(folder, self._cache)
            self._open[folder] = columns
            if len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
            return columns
