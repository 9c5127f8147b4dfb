"""Search for run stores below a folder, recognised by files of `RunStore`."""

from __future__ import annotations

import os
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from mosaic_lab.keeper.run_store import is_run_id
from mosaic_lab.sanitize import escaped

DEEPEST = 6  # maximum folder depth below the root
MAX_STORES = 200
MAX_FOLDERS = 20_000  # maximum number of folders searched
SECONDS = 5.0
_NO_STORES_IN = frozenset({"node_modules", "site-packages", "__pycache__", "comparisons"})


@dataclass(frozen=True)
class StoreSummary:
    """A run store. ``runs`` is its number of run folders; ``changed`` is when a run was last added or
    removed, in Unix seconds."""

    path: str
    runs: int
    changed: float


@dataclass(frozen=True)
class FoundStores:
    """The stores found, most recently changed first, and why there may be more; empty if the search was
    complete.

    ``seconds``: duration of the search.
    """

    stores: list[StoreSummary]
    cut_short: str
    seconds: float = field(default=0.0, compare=False)


def find_stores(root: Path | str, seconds: float = SECONDS) -> FoundStores:
    """Search ``root`` and the folders below it for run stores, breadth first, for at most ``seconds``.

    Skipped are hidden folders, package folders, Python environments, unreadable folders and links (a link's
    target below the root is found at its own path). Also skipped are exported runs, whose folders are named
    by run ids but contain other files. Folders whose names are not UTF-8, which no page can request, are
    skipped and counted.
    """
    stores: list[StoreSummary] = []
    waiting = deque([(Path(root).resolve(), 0)])
    began = time.monotonic()
    deadline = began + seconds
    searched, unnamed, cut_short = 0, 0, ""
    while waiting:
        if len(stores) >= MAX_STORES:
            cut_short = f"the first {MAX_STORES} run stores are listed"
        elif searched >= MAX_FOLDERS:
            cut_short = f"the first {MAX_FOLDERS:,} folders were searched"
        elif time.monotonic() > deadline:
            cut_short = f"the search ended after {seconds:g} s, at {searched:,} folders"
        if cut_short:
            break
        folder, depth = waiting.popleft()
        searched += 1
        names = _folders_in(folder)
        readable = [name for name in names if escaped(name) == name]
        unnamed += len(names) - len(readable)
        names = readable
        runs = [name for name in names if is_run_id(name)]
        if ".slots" in names or any((folder / name / "config.json").is_file() for name in runs):
            stores.append(StoreSummary(str(folder), len(runs), _changed(folder)))
        if depth < DEEPEST:
            below = (name for name in names if not (name.startswith(".") or name in _NO_STORES_IN))
            waiting.extend((folder / name, depth + 1) for name in below if not is_run_id(name))
    if unnamed and not cut_short:
        folders = "1 folder is" if unnamed == 1 else f"{unnamed:,} folders are"
        cut_short = f"{folders} left out: the name is not UTF-8 text, rename it"
    ordered = sorted(stores, key=lambda store: -store.changed)
    return FoundStores(ordered, cut_short, time.monotonic() - began)


def _folders_in(folder: Path) -> list[str]:
    """Return the names of a folder's subfolders; empty if it is a Python environment or unreadable."""
    try:
        with os.scandir(folder) as entries:
            listed = list(entries)
        if any(entry.name in ("pyvenv.cfg", "conda-meta") for entry in listed):
            return []
        return sorted(entry.name for entry in listed if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _changed(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
