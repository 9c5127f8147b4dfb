"""Opening the files of a run folder: a named pipe, device or folder in their place is an error, and so is a
link to outside of the folder that this process is confined to."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from mosaic_lab.errors import NotAFile

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


_root: Path | None = None
"""The folder that this process is confined to."""


def confine(root: Path) -> None:
    """Have this process read no file and list no folder outside of ``root``, through a link or otherwise.

    Only the process that reads for Jupyter's server is confined: it answers pages that may have no kernel,
    and so shows no more than the server itself serves. A kernel runs any code of whoever reaches it, who can
    read its user's files without us; it follows links in a store, such as those to another disk.
    """
    global _root
    _root = root.resolve()


def check_inside(path: Path) -> None:
    """Raise NotAFile where the process is confined and a path, links followed, leads out of the root."""
    if _root is not None and not Path(os.path.realpath(path)).is_relative_to(_root):
        raise NotAFile(f"{path} is a link to outside of {_root}, so it is read only through a kernel")


def folder_in(parent: Path, name: str) -> Path | None:
    """Return the folder ``name`` of a folder; None for a link, for ``..`` and for what is not a folder."""
    try:
        found = Path(os.path.realpath(parent / name))
        return found if found == parent / found.name and found.name == name and found.is_dir() else None
    except (OSError, ValueError):  # a name that no file can have
        return None


def folders_in(path: Path) -> list[Path]:
    """Return the folders in a folder, links left out, by name; none where it cannot be listed."""
    try:
        return list_folders(path)
    except OSError:
        return []


def list_folders(path: Path) -> list[Path]:
    """`folders_in`, of a folder that can be listed. Raises OSError otherwise."""
    check_inside(path)
    with os.scandir(path) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return [path / name for name in sorted(names)]


def open_file(path: Path, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading. Raises NotAFile for anything else, and OSError as `open` does."""
    return _open(path, os.O_RDONLY, "rb", buffering)


def open_for_appending(path: Path) -> BinaryIO:
    """Open a regular file, made when missing, for appending. Raises OSError as `open_file` does."""
    return _open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, "ab")


def kind_of(path: Path) -> str | None:
    """Return the kind of thing in a file's place, such as "a folder"; None for a regular or no file."""
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            check_inside(path)
            found = path.stat()
        return _kind(found.st_mode)
    except NotAFile:
        return f"a link to outside of {_root}"
    except OSError as error:
        return "a link that leads to itself" if error.errno == errno.ELOOP else None


def _open(path: Path, flags: int, mode: str, buffering: int = -1) -> BinaryIO:
    check_inside(path)
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        if (kind := _kind(os.fstat(descriptor).st_mode)) is not None:
            raise NotAFile(f"{path} is {kind}, not a file")
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, mode, buffering)  # type: ignore[return-value]
    except BaseException:
        os.close(descriptor)
        raise


def _kind(mode: int) -> str | None:
    if stat.S_ISREG(mode):
        return None
    return next((name for matches, name in _KINDS if matches(mode)), "something else")
