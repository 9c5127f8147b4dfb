"""Locks whose holder is known to be alive: `flock` on small files, released by the system with its holder."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def take(path: Path, *, shared: bool = False) -> int | None:
    """Lock ``path`` (made when missing) at once: an open descriptor, or None while another holds it."""
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
    """Whether some process holds the lock exclusively. A file that is missing, or that cannot be opened, is
    held by no process."""
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
