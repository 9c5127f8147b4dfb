"""An index of the rows of one run store with cheap, versioned updates, and the cache of its rows.

The small files of a live run are checked at each update, the files of an ended run less often. Telemetry is
read incrementally, a bounded part per update, newest runs first.

The rows of ended runs are cached, so that the table of a large store appears before its files are read. A
store's rows are one file in the user's cache folder. It is written under a temporary name and then renamed,
so that one of several concurrent writers wins. A row is valid while the files of its run have the recorded
times and sizes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import msgspec

from mosaic_lab.keeper.files import confinement, folders_in
from mosaic_lab.keeper.run_store import COMPARISONS, RunFolder, RunStore
from mosaic_lab.keeper.states import State
from mosaic_lab.overview.column_pool import ColumnPool, Reading
from mosaic_lab.overview.results import Counted, Returns, counted, returns_of, row_with_parts, with_returns
from mosaic_lab.overview.rows import RunRow, comparison_row, unreadable_row
from mosaic_lab.runs import Run
from mosaic_lab.runs.annotations import FILE as ANNOTATIONS
from mosaic_lab.runs.isolation import isolated
from mosaic_lab.sanitize import sanitize
from mosaic_lab.telemetry.column_cache import users_cache

READ_SECONDS = 0.1
"""Time limit for telemetry in one update."""
MIN_CHECKED = 50
"""Minimum number of ended runs checked at each update; one twentieth of them if that is more."""
MAX_REMOVED = 10_000
"""Maximum number of ids of removed runs kept."""

NO_RETURNS = Returns()
MIN_UNCACHED = 100
"""Number of rows that differ from the cached ones at which all are cached again; one twentieth of all rows if
that is more."""
_ENDED = (str(State.COMPLETED), str(State.FAILED), str(State.CANCELLED))
RECENT_NS = 2_000_000_000
"""Age up to which a file may change again without a new modification time."""
FILES = ("config.json", "launch.json", "state.json", ANNOTATIONS, "telemetry.jsonl")
"""The files of a run's `Stamp`."""
SETTINGS = slice(2)
"""The positions in `FILES` of those that `Run` reads only once."""
CACHE_VERSION = 1
"""Increase this when the fields of rows are computed differently."""
MAX_CACHE_BYTES = 64 << 20
"""Maximum size of a cache file; a row takes about one kilobyte."""
MAX_CACHED_STORES = 50
"""Maximum number of cache files; the last written are kept."""
_SUFFIX = ".rows"

Stamp = tuple[tuple[int, int], ...]
"""The modification time in nanoseconds and the size of each file that a row is based on; zeros for missing
files."""
_FIELDS = [field.name for cls in (RunRow, Returns) for field in fields(cls)]


class CachedRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A row with the `Stamp` of its files. ``complete``: whether ``returns`` cover all of its telemetry."""

    stamp: Stamp
    row: RunRow
    returns: Returns
    complete: bool


@dataclass
class _Entry:
    run: Run
    row: RunRow
    version: int
    stamp: Stamp
    returns: Returns = NO_RETURNS
    complete: bool = False
    """Whether the telemetry of an ended run has been read to its end."""
    counted: Counted | None = None


class RunIndex:
    """The rows of the store at ``root``, which need not exist yet. Not thread-safe.

    ``pool`` reads the columns of its runs; default: a new pool.
    """

    def __init__(self, root: Path | str, pool: ColumnPool | None = None) -> None:
        self.store = RunStore(root)
        self._pool = pool or ColumnPool()
        self._entries: dict[str, _Entry] = {}
        self._cache = RowCache(self.store.root)
        self._uncached = 0  # rows that have changed since the cache was read or written
        self._comparisons: dict[str, tuple[RunRow, int, Stamp]] = {}
        self._removed: dict[str, int] = {}
        self._version = 0
        self._store_stamp: Stamp = ()
        self.is_complete = False
        """Whether all runs were in the index after the last update."""
        self._next_index = 0  # index of the ended run to check next

    def changes(self, version: int, max_new: int | None = None) -> tuple[int, list[RunRow], list[str]]:
        """Update the index, and return its version, the rows newer than ``version``, oldest first, and the
        ids of runs removed since.

        Version 0 and unknown versions precede all rows. Of runs not yet in the index, only the newest
        ``max_new`` are read; the others are read in the next update.
        """
        self._update(max_new)
        if version > self._version:
            version = 0
        rows = [entry.row for entry in self._entries.values() if entry.version > version]
        rows += [row for row, row_version, _ in self._comparisons.values() if row_version > version]
        removed = [name for name, row_version in self._removed.items() if row_version > version > 0]
        return self._version, rows, removed

    # ------------------------------------------------------------------ looking

    def _update(self, max_new: int | None) -> None:
        self._update_runs(max_new)
        ended = [entry for entry in self._entries.values() if not entry.row.alive]
        for entry in self._entries.values():
            if entry.row.alive:
                self._refresh(entry)
        for entry in self._next_ended(ended):
            if _stamp(entry.run.path, *FILES) != entry.stamp:
                entry.complete = False
                self._refresh(entry)
        self._update_comparisons()
        self._read_telemetry()
        if self.is_complete and self._uncached >= max(MIN_UNCACHED, len(self._entries) // 20):
            self._store_rows()

    def _update_runs(self, max_new: int | None) -> None:
        """Find new runs, at most the newest ``max_new``, and runs that were removed."""
        listed = _stamp(self.store.root, "")
        if listed == self._store_stamp and _is_older(listed):
            return
        self._store_stamp = listed
        folders = {folder.run_id: folder for folder in self.store.folders()}
        for name in [name for name in self._entries if name not in folders]:
            del self._entries[name]
            self._remove(name)
        new = [name for name in folders if name not in self._entries]
        newest = new if max_new is None else new[-max_new:]
        self.is_complete = len(newest) == len(new)
        if not self.is_complete:
            self._store_stamp = ()
        cached = self._cache.load() if len(new) >= MIN_UNCACHED else {}
        for name in newest:
            self._entries[name] = self._entry(folders[name], cached.get(name))
            self._removed.pop(name, None)
        if new:
            self._entries = {name: self._entries[name] for name in folders if name in self._entries}

    def _entry(self, folder: RunFolder, cached: CachedRow | None) -> _Entry:
        run, stamp = Run(folder), _stamp(folder.path, *FILES)
        if cached is not None and cached.stamp == stamp:
            return _Entry(run, cached.row, self._next_version(), stamp, cached.returns, cached.complete)
        row = row_with_parts(run, None, None)
        self._uncached += _has_ended(row)
        return _Entry(run, row, self._next_version(), stamp)

    def _store_rows(self) -> None:
        self._uncached = 0
        self._cache.keep(
            {
                name: CachedRow(entry.stamp, entry.row, entry.returns, entry.complete)
                for name, entry in self._entries.items()
                if _has_ended(entry.row) and _is_older(entry.stamp)
            }
        )

    def _next_ended(self, ended: list[_Entry]) -> Iterator[_Entry]:
        count = min(len(ended), max(MIN_CHECKED, len(ended) // 20))
        for index in range(self._next_index, self._next_index + count):
            yield ended[index % len(ended)]
        self._next_index = (self._next_index + count) % max(1, len(ended))

    def _refresh(self, entry: _Entry) -> None:
        """Recompute the row; any change except in its duration gives it a new version."""
        former, entry.stamp = entry.stamp, _stamp(entry.run.path, *FILES)
        if former[SETTINGS] != entry.stamp[SETTINGS]:  # just started, or resumed with more to do
            entry.run, entry.counted = Run(entry.run.folder), None
        row = self._row(entry)
        if replace(row, duration=entry.row.duration) != entry.row:
            entry.version = self._next_version()
            entry.row = row
            self._uncached += _has_ended(row)

    def _row(self, entry: _Entry) -> RunRow:
        returns = entry.returns
        entry.counted = entry.counted or counted(entry.run)
        return with_returns(row_with_parts(entry.run, returns.step, entry.counted), returns)

    def _update_comparisons(self) -> None:
        folders = {sanitize(path.name): path for path in folders_in(self.store.root / COMPARISONS)}
        for name in [name for name in self._comparisons if name not in folders]:
            del self._comparisons[name]
            self._remove(name)
        for name, path in folders.items():
            previous, stamp = self._comparisons.get(name), _stamp(path, "", ANNOTATIONS)
            if previous is None or previous[0].alive or previous[2] != stamp:
                row = isolated(partial(comparison_row, path), partial(unreadable_row, name, "comparison"))
                if previous is None or row != previous[0]:
                    self._comparisons[name] = (row, self._next_version(), stamp)

    def _read_telemetry(self) -> None:
        """Read more telemetry of live runs, then of ended runs not yet read completely, newest first."""
        deadline = time.monotonic() + READ_SECONDS
        waiting = [entry for entry in reversed(self._entries.values()) if not entry.complete]
        for entry in sorted(waiting, key=lambda entry: not entry.row.alive):
            ended, reading = not entry.row.alive, Reading()
            for _, columns in self._pool.columns([entry.run], reading, max(0.0, deadline - time.monotonic())):
                if not reading.unread or not ended:
                    entry.returns = isolated(
                        partial(returns_of, entry.run, columns), lambda reason: NO_RETURNS
                    )
            entry.complete = ended and not reading.unread
            if not entry.complete or entry.returns != NO_RETURNS:
                self._refresh(entry)
            else:
                self._uncached += _has_ended(entry.row)
            if time.monotonic() > deadline:
                return

    def _remove(self, name: str) -> None:
        self._removed[name] = self._next_version()
        while len(self._removed) > MAX_REMOVED:
            del self._removed[next(iter(self._removed))]

    def _next_version(self) -> int:
        self._version += 1
        return self._version


def _has_ended(row: RunRow) -> bool:
    """Return whether a run's row can be cached. A lost run's processes may still be alive."""
    return row.state in _ENDED and not row.alive


def _stamp(folder: Path, *names: str) -> Stamp:
    """Return the times and sizes of files in a folder; an empty name is the folder."""
    stamp = []
    for name in names:
        try:
            status = os.stat(f"{folder}/{name}")  # noqa: PTH116 - hundreds are checked at each update
            stamp.append((status.st_mtime_ns, status.st_size))
        except OSError:
            stamp.append((0, 0))
    return tuple(stamp)


def _is_older(stamp: Stamp) -> bool:
    """Return whether no file of a stamp was changed in the last two seconds."""
    return max(changed for changed, _ in stamp) < time.time_ns() - RECENT_NS


class RowCache:
    """The cached rows of the store at ``root``, by run id. Any number of processes may share them."""

    def __init__(self, root: Path) -> None:
        # What a confined process may not read must not reach it through the cache of another process.
        name = f"{root}\n{confinement() or ''}\n{CACHE_VERSION} {_FIELDS}"
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
        self._path = users_cache("rows") / f"{digest}{_SUFFIX}"

    def load(self) -> dict[str, CachedRow]:
        """Return the rows; empty if there is no valid file."""
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if self._path.stat().st_size <= MAX_CACHE_BYTES:
                data = self._path.read_bytes()
                rows = msgspec.msgpack.decode(data, type=dict[str, CachedRow], ext_hook=_refuse)
                return {name: cached for name, cached in rows.items() if cached.row.id == name}
        return {}

    def keep(self, rows: dict[str, CachedRow]) -> None:
        """Replace the rows, if they can be written."""
        with suppress(OSError, UnicodeEncodeError):
            data = msgspec.msgpack.encode(rows)
            if len(data) > MAX_CACHE_BYTES:
                return
            folder = self._path.parent
            folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".partial-", dir=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                Path(name).replace(self._path)
            finally:
                Path(name).unlink(missing_ok=True)
            files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in files[MAX_CACHED_STORES:]:
                path.unlink(missing_ok=True)


def _refuse(code: int, data: memoryview) -> NoReturn:
    raise msgspec.ValidationError("rows have no values of other types")
