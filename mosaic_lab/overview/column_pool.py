"""The columns of many runs, kept open between requests, within bounds."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mosaic_lab.runs import Run
from mosaic_lab.telemetry.column_cache import ColumnCache
from mosaic_lab.telemetry.columns import RunColumns

MOST_OPEN = 256
"""Runs that stay mapped: each takes one or two file descriptors."""
MOST_GROWING = 128
"""Runs that are not in the cache and stay open all the same: each takes a few megabytes."""
READ_SECONDS = 0.5
"""What one request may spend on parsing."""
NEWEST_BYTES = 64 << 10
"""Read of each run that was begun, however much there is to read of others: live ones keep up."""


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
        self._mapped: OrderedDict[Path, RunColumns] = OrderedDict()
        self._growing: OrderedDict[Path, RunColumns] = OrderedDict()
        self._lock = threading.Lock()

    def columns(
        self, runs: Sequence[Run], reading: Reading, seconds: float = READ_SECONDS
    ) -> Iterator[tuple[Run, RunColumns]]:
        """Yield each run that can be read with its columns, one at a time, brought up to date.

        Parsing takes about ``seconds``, and one slice at least: then of further runs only those go on that
        were begun before, and ``reading`` reports how much is unread. The next request reads on.
        """
        deadline, parsed = time.monotonic() + seconds, False
        for run in runs:
            columns = self._columns(run.path)
            ended = _ended(run)
            try:
                more = columns.read(ended, NEWEST_BYTES if columns.growing else 0)
                while more and (not parsed or time.monotonic() < deadline):
                    more, parsed = columns.read(ended), True
            except OSError as error:
                reading.problems.append(f"{run.label} ({run.id}) cannot be read: {error}")
                continue
            finally:
                self._keep(run.path, columns)
            reading.size += columns.size
            reading.unread += columns.unread
            yield run, columns

    def _columns(self, folder: Path) -> RunColumns:
        with self._lock:
            return self._growing.get(folder) or self._mapped.get(folder) or RunColumns(folder, self._cache)

    def _keep(self, folder: Path, columns: RunColumns) -> None:
        """Keep the columns among those that were used last, of runs that grow and of others."""
        with self._lock:
            for kept, most, fits in (
                (self._growing, MOST_GROWING, columns.growing),
                (self._mapped, MOST_OPEN, not columns.growing),
            ):
                kept.pop(folder, None)
                if fits:
                    kept[folder] = columns
                    if len(kept) > most:
                        kept.popitem(last=False)


def _ended(run: Run) -> Callable[[], bool]:
    return lambda: not run.alive
