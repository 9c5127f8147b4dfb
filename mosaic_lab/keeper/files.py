"""Open the files of a run folder safely. A named pipe, device or folder in place of a file is an error, as is
a link that leaves the folder to which this process is confined."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from mosaic_lab.errors import NotAFile

_FILE_TYPES = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


_root: Path | None = None
"""The folder to which this process is confined."""


def confine(root: Path) -> None:
    """Restrict this process to reading files and listing folders inside ``root``, also through links.

    Only the process that reads for Jupyter's server is confined: it serves pages that may have no kernel, so
    it must not show more than the server itself. A kernel runs arbitrary code of anyone who can reach it,
    including reading the user's files; it follows links in a store, such as links to another disk.
    """
    global _root
    _root = root.resolve()


def confinement() -> Path | None:
    """Return the folder to which this process is confined, or None."""
    return _root


def check_inside(path: Path) -> None:
    """Raise NotAFile if the process is confined and ``path``, with links resolved, is outside the root."""
    if _root is not None and not Path(os.path.realpath(path)).is_relative_to(_root):
        raise NotAFile(f"{path} is a link to outside of {_root}, so it can be read only through a kernel")


def folder_in(parent: Path, name: str) -> Path | None:
    """Return the folder ``name`` in ``parent``; None for a link, ``..`` or anything that is not a folder."""
    try:
        folder = Path(os.path.realpath(parent / name))
        return folder if folder == parent / folder.name and folder.name == name and folder.is_dir() else None
    except (OSError, ValueError):  # an invalid file name
        return None


def folders_in(path: Path) -> list[Path]:
    """Return the folders in a folder, without links, sorted by name; empty if it cannot be listed."""
    try:
        return list_folders(path)
    except OSError:
        return []


def list_folders(path: Path) -> list[Path]:
    """Like `folders_in`, but raise OSError if the folder cannot be listed."""
    check_inside(path)
    with os.scandir(path) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return [path / name for name in sorted(names)]


def open_file(path: Path, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading. Raises NotAFile for anything else, and OSError as `open` does."""
    return _open(path, os.O_RDONLY, "rb", buffering)


def open_for_appending(path: Path) -> BinaryIO:
    """Open a regular file for appending and create it if missing. Raises OSError as `open_file` does."""
    return _open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, "ab")


def append_line(path: Path, line: bytes) -> None:
    """Append a line in full or, on a full disk, not at all. Raises OSError."""
    with open_for_appending(path) as file:
        end = file.seek(0, os.SEEK_END)
        if os.write(file.fileno(), line + b"\n") <= len(line):
            file.truncate(end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def irregular_kind(path: str) -> str | None:
    """Return the kind of a path that is not a regular file, such as "a folder"; None for a regular or missing
    file."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            check_inside(Path(path))
            status = os.stat(path)  # noqa: PTH116
        return _file_type(status.st_mode)
    except NotAFile:
        return f"a link to outside of {_root}"
    except OSError as error:
        return "a link that leads to itself" if error.errno == errno.ELOOP else None


def _open(path: Path, flags: int, mode: str, buffering: int = -1) -> BinaryIO:
    check_inside(path)
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        if (file_type := _file_type(os.fstat(descriptor).st_mode)) is not None:
            raise NotAFile(f"{path} is {file_type}, not a file")
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, mode, buffering)  # type: ignore[return-value]
    except BaseException:
        os.close(descriptor)
        raise


def _file_type(mode: int) -> str | None:
    if stat.S_ISREG(mode):
        return None
    return next((name for matches, name in _FILE_TYPES if matches(mode)), "something else")
