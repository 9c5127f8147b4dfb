"""A cache of the rows of ended runs, so that the table of a large store appears before its files are read.

A store's rows are one file in the user's cache folder. It is written under a temporary name and then renamed,
so that one of several concurrent writers wins. A row is valid while the files of its run have the recorded
times and sizes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import NoReturn

import msgspec

from mosaic_lab.keeper.files import confinement
from mosaic_lab.overview.results import Returns
from mosaic_lab.overview.rows import RunRow
from mosaic_lab.telemetry.column_cache import users_cache

VERSION = 1
"""Increase this when the fields of rows are computed differently."""
MOST_BYTES = 64 << 20
"""Maximum size of a file; a row takes about one kilobyte."""
MOST_STORES = 50
"""Maximum number of files; the last written are kept."""
_SUFFIX = ".rows"

Stamp = tuple[tuple[int, int], ...]
"""The modification time in nanoseconds and the size of each file that a row is based on; zeros for missing
files."""


class CachedRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A row with the `Stamp` of its files. ``complete``: whether ``returns`` cover all of its telemetry."""

    stamp: Stamp
    row: RunRow
    returns: Returns
    complete: bool


_FIELDS = [field.name for made in (RunRow, Returns) for field in fields(made)]


class RowCache:
    """The cached rows of the store at ``root``, by run id. Any number of processes may share them."""

    def __init__(self, root: Path) -> None:
        # What a confined process may not read must not reach it through the cache of another process.
        name = f"{root}\n{confinement() or ''}\n{VERSION} {_FIELDS}"
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
        self._path = users_cache("rows") / f"{digest}{_SUFFIX}"

    def load(self) -> dict[str, CachedRow]:
        """Return the rows; empty if there is no valid file."""
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if self._path.stat().st_size <= MOST_BYTES:
                data = self._path.read_bytes()
                rows = msgspec.msgpack.decode(data, type=dict[str, CachedRow], ext_hook=_refuse)
                return {name: cached for name, cached in rows.items() if cached.row.id == name}
        return {}

    def keep(self, rows: dict[str, CachedRow]) -> None:
        """Replace the rows, if they can be written."""
        with suppress(OSError, UnicodeEncodeError):
            data = msgspec.msgpack.encode(rows)
            if len(data) > MOST_BYTES:
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
            written = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in written[MOST_STORES:]:
                path.unlink(missing_ok=True)


def _refuse(code: int, data: memoryview) -> NoReturn:
    raise msgspec.ValidationError("rows have no values of other types")
