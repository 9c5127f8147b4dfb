"""The run folder of a keeper: found again when it is moved, locked again when its lock is deleted."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from mosaic_lab.keeper import locks
from mosaic_lab.keeper.run_store import RunFolder


class LockedFolder:
    """A folder, identified by its inode, whose ``keeper.lock`` the descriptor ``lock`` holds.

    Raises OSError when the folder is not there.
    """

    def __init__(self, folder: RunFolder, lock: int) -> None:
        self._home = folder.path
        self._lock = lock
        self._inode = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY)

    def locate(self) -> Path | None:
        """Return the folder's current path; None when it was deleted."""
        places = (self._home, _path_of(self._inode))
        return next((place for place in places if place and _same(place, self._inode)), None)

    def lock_again(self, path: Path) -> None:
        """Lock the file at ``path`` if the one that is locked is no longer there."""
        with suppress(OSError):
            if not _same(path, self._lock) and (lock := locks.take(path)) is not None:
                os.close(self._lock)
                self._lock = lock


def _same(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False


def _path_of(descriptor: int) -> Path | None:
    """Return the path of an open folder; None where the system does not report it."""
    with suppress(OSError):
        if hasattr(fcntl, "F_GETPATH"):  # macOS
            return Path(os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")))
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    return None
