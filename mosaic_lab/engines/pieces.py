"""Parts of a run's files that a node sends: appended bytes of files that only grow, and other files whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from mosaic_lab.engines.engine import Piece
from mosaic_lab.engines.job import INPUTS

GROWING = ("telemetry.jsonl", "system.jsonl", "worker.log")
"""Files of a run that only grow; the log is also cut, and sent again then. See `growing`."""
_ARENAS = "arenas"
_OWN = {
    "config.json",
    "launch.json",
    "provenance.json",
    "state.json",
    "stop.json",
    "keeper.lock",
    "keeper.log",
}
PIECE = 4 << 20
"""Bytes that are sent at once, at most."""


def growing(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names of the files in a run folder that only grow: its own, and those of the arenas of an
    evaluation."""
    found = (str(path.relative_to(folder)) for path in folder.glob(f"{_ARENAS}/*/*"))
    return list(GROWING), sorted(name for name in found if is_growing(name))


def is_growing(name: str) -> bool:
    """Return whether `growing` has a file of this name."""
    return name in GROWING or (name.startswith(f"{_ARENAS}/") and name.endswith((".jsonl", ".log")))


def pieces_of_growing(folder: Path, names: Iterable[str], known: Mapping[str, int]) -> Iterable[Piece]:
    """Yield a piece of each file called ``names`` that has more bytes, or fewer, than are known of it."""
    for name in names:
        try:
            with (folder / name).open("rb") as file:
                about = os.fstat(file.fileno())
                offset = known.get(name, 0)
                if about.st_size == offset:
                    continue
                offset = 0 if about.st_size < offset else offset
                file.seek(offset)
                yield Piece(name, offset, file.read(PIECE), about.st_size, about.st_mtime_ns)
        except FileNotFoundError:
            continue


def pieces_of_others(folder: Path, known: Mapping[str, tuple[int, int]]) -> Iterable[Piece]:
    """Yield pieces of the other files that differ from what is known, at most `PIECE` bytes in total.

    ``known`` has the size and the time of change of each, by its path in the folder. Of a file that is known
    in part, with the same time of change, the rest.
    """
    room = PIECE
    for path in _others(folder):
        name = str(path.relative_to(folder))
        size, changed = known.get(name, (0, 0))
        try:
            about = path.stat()
            if (size, changed) == (about.st_size, about.st_mtime_ns):
                continue
            if room <= 0:
                return
            offset = size if changed == about.st_mtime_ns else 0
            with path.open("rb") as file:
                file.seek(offset)
                data = file.read(room)
        except FileNotFoundError:  # a temporary one, which was renamed or removed since it was listed
            continue
        room -= max(1, len(data))
        yield Piece(name, offset, data, about.st_size, about.st_mtime_ns)


def _others(folder: Path) -> list[Path]:
    found = []
    for here, folders, names in os.walk(folder):
        top = Path(here) == folder
        folders[:] = [one for one in folders if not one.startswith(".") and not (top and one == INPUTS)]
        known = _OWN if top else set()
        files = (Path(here, one) for one in names if not one.startswith(".") and one not in known)
        found += [file for file in files if file.is_file() and not file.is_symlink()]
    return sorted(file for file in found if not is_growing(str(file.relative_to(folder))))
