"""Location, ownership and removal of ring files, and the link from a run folder to its ring.

A ring is in ``/dev/shm/mosaic-lab-<uid>/``, or in ``mosaic-lab-<uid>/`` below the temporary folder if
``/dev/shm`` is full or missing. Its writer holds an exclusive flock on it until it exits, so a ring whose
lock is free belongs to a dead writer. A new ring is unlocked for a moment; therefore its creator holds a
shared lock on the folder meanwhile, and a process that removes dead rings an exclusive one. Neither age nor
clock matters, and a run folder's link only helps readers to find the ring.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mosaic_contract.errors import FastlaneError
from mosaic_contract.fastlane.layout import SUFFIX, Ring

LINK = "fastlane"
"""The link from a run folder to its ring; if dangling or absent, there is no ring on this machine."""

SHARED_MEMORY = Path("/dev/shm")
_NEW_LINK = ".fastlane.new"
_LOCK_SECONDS = 0.5  # to wait for the lock on a folder, which is held for microseconds
_ZEROS = bytes(1 << 20)


def folders() -> list[Path]:
    """Return the folders that may contain rings, in order of preference."""
    parents = [SHARED_MEMORY]
    with suppress(FileNotFoundError):  # no writable temporary folder
        parents.append(Path(tempfile.gettempdir()))
    return [folder / f"mosaic-lab-{os.getuid()}" for folder in parents]


def create(run_name: str, size: int) -> tuple[Ring, int, str | None]:
    """Create a ring file of ``size`` bytes, all of them reserved.

    Return its mapping, the descriptor that holds its lock until closed, and why it is not in the first folder
    (None if it is). Raises FastlaneError if there is no space for it.
    """
    reasons = []
    for folder in folders():
        try:
            ring, lock = _create_in(folder, f"{run_name[:50]}-{secrets.token_hex(6)}{SUFFIX}", size)
        except OSError as error:
            reasons.append(f"{folder.parent}: {error.strerror or error}")
        else:
            return ring, lock, "; ".join(reasons) or None
    raise FastlaneError(
        f"there is no space for {size:,} bytes of frames ({'; '.join(reasons)}): "
        "free some space there, or set TMPDIR to another folder"
    )


def _create_in(folder: Path, name: str, size: int) -> tuple[Ring, int]:
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    path = folder / name
    with _locked(folder, fcntl.LOCK_SH):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        # Not the mapped descriptor: a mapping keeps its own copy, also in forked children, and the lock would
        # live as long as the last copy.
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # a file system without such locks
            remove(path, descriptor, lock)
            raise
    try:
        # A write reserves the space: storing to a hole in a full tmpfs would raise a fatal SIGBUS.
        for start in range(0, size, len(_ZEROS)):
            block = memoryview(_ZEROS)[: size - start]
            while block:
                block = block[os.write(descriptor, block) :]
        ring = Ring(path, descriptor, size)
    except BaseException:
        remove(path, descriptor, lock)
        raise
    os.close(descriptor)
    return ring, lock


def remove(path: Path, *descriptors: int) -> None:
    """Remove a ring and close its descriptors."""
    with suppress(OSError):
        path.unlink()
    for descriptor in descriptors:
        os.close(descriptor)


@contextmanager
def _locked(folder: Path, mode: int) -> Iterator[None]:
    """Hold a lock on the folder. Raises OSError if others can write to it, or it is locked for too long."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o022:
            raise PermissionError(errno.EPERM, f"{folder} can be written by others")
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.001)
        yield
    finally:
        os.close(descriptor)


def point(run_dir: Path, ring: Path) -> None:
    """Point the run folder's link to the ring, atomically. Raises FastlaneError on failure."""
    new = run_dir / _NEW_LINK
    try:
        with suppress(FileNotFoundError):
            new.unlink()
        new.symlink_to(ring)
        new.replace(run_dir / LINK)
    except OSError as error:
        raise FastlaneError(f"frames cannot be announced in {run_dir}: {error}") from error


def target(run_dir: Path) -> Path | None:
    """Return the target of the run folder's link, None without a link."""
    try:
        return (run_dir / LINK).readlink()
    except OSError:
        return None


def has_writer(path: Path) -> bool:
    """Return whether a live writer holds the ring."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def sweep() -> list[Path]:
    """Remove the rings of dead writers and return their paths. Cheap."""
    removed = []
    for folder in folders():
        with suppress(OSError), _locked(folder, fcntl.LOCK_EX):
            rings = [Path(entry.path) for entry in os.scandir(folder) if entry.name.endswith(SUFFIX)]
            removed += [path for path in rings if _remove_dead(path)]
    return removed


def clear(run_dir: Path | str) -> None:
    """Remove the frame files of an ended run: its link, its ring, and the rings of other dead writers. The
    ring of a live writer is kept, wherever the link points."""
    run_dir = Path(run_dir)
    ring = target(run_dir)
    if ring is not None:
        with suppress(OSError):
            (run_dir / LINK).unlink()
        if ring.suffix == SUFFIX and ring.parent.name == folders()[0].name:
            _remove_dead(ring)
    with suppress(OSError):
        (run_dir / _NEW_LINK).unlink()
    sweep()


def _remove_dead(path: Path) -> bool:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
            return True
        finally:
            os.close(descriptor)
    return False
