"""Locks with a living holder: `flock` on small files, released by the system when the holder ends."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


def take(path: Path, *, shared: bool = False) -> int | None:
    """Lock ``path``, created if missing, without waiting. Return an open descriptor, or None if another
    process holds the lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o644)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def held(path: Path) -> bool:
    """Return whether a process holds the lock exclusively; False for a file that cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


class LockedFolder:
    """A run folder, identified by its inode, whose ``keeper.lock`` is held by the descriptor ``lock``.

    It is found again after a move, and locked again if its lock file is deleted. Raises OSError if it does
    not exist.
    """

    def __init__(self, folder: Path, lock: int) -> None:
        self._home = folder
        self._lock = lock
        self._inode = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)

    def locate(self) -> Path | None:
        """Return the folder's current path; None if it was deleted."""
        candidates = (self._home, _path_of(self._inode))
        return next((path for path in candidates if path and _is_same_file(path, self._inode)), None)

    def lock_again(self, path: Path) -> None:
        """Lock the file at ``path`` if the locked file no longer exists there."""
        with suppress(OSError):
            if not _is_same_file(path, self._lock) and (lock := take(path)) is not None:
                os.close(self._lock)
                self._lock = lock


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False


def _path_of(descriptor: int) -> Path | None:
    """Return the path of an open folder; None if the system does not report it."""
    with suppress(OSError):
        if hasattr(fcntl, "F_GETPATH"):  # macOS
            return Path(os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")))
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    return None
