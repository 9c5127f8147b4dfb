"""Run stores below a folder, found by what a `RunStore` leaves there."""

from __future__ import annotations

import os
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from mosaic_lab.keeper.run_store import is_run_id
from mosaic_lab.sanitize import escaped

DEEPEST = 6  # folders below the root
MOST_STORES = 200
MOST_FOLDERS = 20_000  # looked into
SECONDS = 5.0
_NO_STORES_IN = frozenset({"node_modules", "site-packages", "__pycache__", "comparisons"})


@dataclass(frozen=True)
class FoundStore:
    """A run store. ``runs`` is how many folders of runs it has, ``changed`` when one was last added or
    removed, in Unix seconds."""

    path: str
    runs: int
    changed: float


@dataclass(frozen=True)
class Search:
    """The stores found, the latest changed first, and why there may be more; empty when all was searched.
    ``seconds``: how long the search took."""

    stores: list[FoundStore]
    cut_short: str
    seconds: float = field(default=0.0, compare=False)


def find_stores(root: Path | str, seconds: float = SECONDS) -> Search:
    """Search ``root`` and the folders below it for run stores, breadth first, for ``seconds`` at most.

    Left out are hidden folders, those of packages and of Python environments, and links: what is linked to
    below the root is found where it is. Folders that cannot be read are passed over, and so are exported
    runs, whose folders have the runs' ids as names and other files. Folders whose names are not UTF-8, which
    no page can request, are left out, too, and counted.
    """
    found: list[FoundStore] = []
    waiting = deque([(Path(root).resolve(), 0)])
    began = time.monotonic()
    deadline = began + seconds
    seen, unnamed, cut_short = 0, 0, ""
    while waiting:
        if len(found) >= MOST_STORES:
            cut_short = f"the first {MOST_STORES} run stores are listed"
        elif seen >= MOST_FOLDERS:
            cut_short = f"the first {MOST_FOLDERS:,} folders were searched"
        elif time.monotonic() > deadline:
            cut_short = f"the search ended after {seconds:g} s, at {seen:,} folders"
        if cut_short:
            break
        folder, depth = waiting.popleft()
        seen += 1
        names = _folders_in(folder)
        readable = [name for name in names if escaped(name) == name]
        unnamed += len(names) - len(readable)
        names = readable
        runs = [name for name in names if is_run_id(name)]
        if ".slots" in names or any((folder / name / "config.json").is_file() for name in runs):
            found.append(FoundStore(str(folder), len(runs), _changed(folder)))
        if depth < DEEPEST:
            below = (name for name in names if not (name.startswith(".") or name in _NO_STORES_IN))
            waiting.extend((folder / name, depth + 1) for name in below if not is_run_id(name))
    if unnamed and not cut_short:
        folders = "1 folder is" if unnamed == 1 else f"{unnamed:,} folders are"
        cut_short = f"{folders} left out: the name is not UTF-8 text, rename it"
    ordered = sorted(found, key=lambda store: -store.changed)
    return Search(ordered, cut_short, time.monotonic() - began)


def _folders_in(folder: Path) -> list[str]:
    """Return the names of folders in this one; none where it is a Python environment or cannot be read."""
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
