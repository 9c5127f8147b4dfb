"""Untrusted zip files, which are checked as a whole before any member is written.

A rejection is a MosaicError that names the member. The manifest, ``manifest.json``, has the size and the
SHA-256 of every other member.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

import numpy as np

from mosaic_lab.errors import MosaicError

MANIFEST = "manifest.json"
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, UnicodeDecodeError, NotImplementedError, RuntimeError),
)
"""Exceptions that Python raises for a damaged zip file or a file of another type."""

_PARTS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_LONGEST = 100  # characters of a name
_WINDOWS = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*\.", re.IGNORECASE)
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BLOCK = 1 << 20
_MAX_MANIFEST = 4 << 20  # bytes; 20,000 files need three MiB
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the zip format's earliest time: the same content gives the same bytes


class TooLarge(MosaicError):
    """A zip file with more members, or larger ones, than the limits allow."""


@dataclass(frozen=True)
class Limits:
    """Limits for a zip file.

    ``members``: maximum number; ``total``: maximum bytes of all members; ``ratio``: maximum compression ratio
    of a member, or of all together, above ``small`` bytes. Legitimate content reaches 20.
    """

    members: int = 20_000
    total: int = 4 << 30
    ratio: int = 100
    small: int = 1 << 20

    def is_bomb(self, compressed: int, size: int) -> bool:
        """Return whether the compression ratio exceeds that of any legitimate content."""
        return size > self.small and size > self.ratio * compressed


def unpack_bundle(
    path: Path, folder: Path, layout: re.Pattern[str], limits: Limits = Limits()
) -> dict[str, Any]:
    """Write the members of a bundle to a new ``folder`` and return its manifest.

    ``layout`` matches valid member names. Raises MosaicError for an invalid zip file, a member with an
    unexpected name, type or content, and exceeded ``limits``; only content verified by the manifest stays.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(path, archive, layout, limits)
            manifest = _manifest(path, archive, members)
            _check_manifest(path, manifest, members)
            for name, facts in manifest["files"].items():
                _write_member(path, archive, members[name], folder / name, facts["sha256"])
            return manifest
    except FileNotFoundError:
        raise MosaicError(f"there is no bundle {path}") from None
    except IsADirectoryError:
        raise MosaicError(
            f"{path} is a folder: give the bundle's zip file, not its unpacked content"
        ) from None
    except OSError as error:
        raise MosaicError(
            f"{path.name} cannot be unpacked in {folder}: {error.strerror or error}. Its files are removed: "
            "free some space, or unpack it somewhere else"
        ) from None
    except UNREADABLE as error:
        raise MosaicError(f"{path.name} cannot be read as a zip file: {error}") from None


def pack_bundle(path: Path, files: Mapping[str, bytes | Path], facts: Mapping[str, Any]) -> None:
    """Write the files, keyed by their names in the bundle, and a manifest that includes ``facts``. The same
    files give the same bytes. Raises OSError."""
    listed: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(files):
            content = files[name]
            listed[name] = _add(archive, name, content.read_bytes() if isinstance(content, Path) else content)
        manifest = json.dumps({**facts, "files": listed}, indent=1, sort_keys=True)
        _add(archive, MANIFEST, manifest.encode() + b"\n")


def danger_in_arrays(path: Path, limits: Limits = Limits()) -> str:
    """Return why an ``.npz`` file must not be read, as the end of a sentence; empty if it is safe.

    The compression ratio is not limited, because pictures that do not change exceed any limit.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > limits.members:
                return f"has {len(members):,} members, {limits.members:,} at most"
            if (total := sum(member.file_size for member in members)) > limits.total:
                return f"would unpack to {total:,} bytes, {limits.total:,} at most"
            for member in members:
                name = member.filename[:100]
                if wrong := _wrong_kind(member):
                    return f"has a member {name!r} that {wrong}"
                if name.endswith(".npy") and (size := _array_bytes(archive, member)) > member.file_size:
                    return f"has an array {name!r} of {size:,} bytes in {member.file_size:,}"
    except (*UNREADABLE, OSError, ValueError) as error:
        return f"cannot be read: {error}"
    return ""


def _array_bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Return the size that an array's header declares, counting at least one byte per element."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(file)
    return math.prod(shape) * max(1, dtype.itemsize)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> dict[str, Any]:
    member = zipfile.ZipInfo(name, _EPOCH)
    member.external_attr = (stat.S_IFREG | 0o644) << 16
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, content)
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _refuse(path: Path, member: str, why: str) -> NoReturn:
    raise MosaicError(f"{path.name} is refused: its member {member[:200]!r} {why}")


def _members(
    path: Path, archive: zipfile.ZipFile, layout: re.Pattern[str], limits: Limits
) -> dict[str, zipfile.ZipInfo]:
    """Return all members by name, if valid."""
    entries = archive.infolist()
    if len(entries) > limits.members:
        raise TooLarge(
            f"{path.name} is refused: it has {len(entries):,} members; the maximum is {limits.members:,}"
        )
    members: dict[str, zipfile.ZipInfo] = {}
    seen: set[str] = set()
    for member in entries:
        name = member.orig_filename
        if why := _wrong_name(name, layout) or _wrong_kind(member):
            _refuse(path, name, why)
        if name.casefold() in seen:
            _refuse(path, name, "is in it twice (some systems ignore the case of names)")
        if limits.is_bomb(member.compress_size, member.file_size):
            _refuse(path, name, _bomb(member.compress_size, member.file_size))
        seen.add(name.casefold())
        members[name] = member
    for name in members:
        if parent := next((str(p) for p in PurePosixPath(name).parents if str(p).casefold() in seen), None):
            _refuse(path, name, f"is in {parent!r}, which is a file")
    total = sum(member.file_size for member in entries)
    size = path.stat().st_size  # regardless of the members' declared compressed sizes
    if limits.is_bomb(size, total):
        raise MosaicError(f"{path.name} is refused: it {_bomb(size, total)}")
    if total > limits.total:
        largest = max(entries, key=lambda member: member.file_size).orig_filename
        raise TooLarge(
            f"{path.name} is refused: its member {largest[:200]!r} is the largest of {total:,} bytes total, "
            f"{limits.total:,} at most"
        )
    return members


def _bomb(compressed: int, size: int) -> str:
    return f"would unpack from {compressed:,} to {size:,} bytes: that is a zip bomb"


def _wrong_name(name: str, layout: re.Pattern[str]) -> str:
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        return "has an absolute name"
    if ".." in re.split(r"[/\\]", name):
        return "would be written outside its folder"
    if len(name) > _LONGEST:
        return f"has a name of {len(name):,} characters, {_LONGEST} at most"
    if not _PARTS.fullmatch(name) or any(map(_WINDOWS.fullmatch, name.split("/"))):
        return "has a name that is not the same on every system"
    return "" if layout.fullmatch(name) else "is not a file of a bundle"


def _wrong_kind(member: zipfile.ZipInfo) -> str:
    file_type = stat.S_IFMT(member.external_attr >> 16)
    if file_type == stat.S_IFLNK:
        return "is a symbolic link"
    if file_type not in (0, stat.S_IFREG):
        return "is a device or another special file"
    if member.flag_bits & _ENCRYPTED:
        return "is encrypted"
    return "" if member.compress_type in _METHODS else "is compressed with a method that bundles do not use"


def _manifest(path: Path, archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> dict[str, Any]:
    if MANIFEST not in members:
        raise MosaicError(f"{path.name} is not a bundle of mosaic-lab: it has no {MANIFEST}")
    if members[MANIFEST].file_size > _MAX_MANIFEST:
        _refuse(path, MANIFEST, f"is larger than {_MAX_MANIFEST >> 20} MiB")
    try:
        manifest = json.loads(archive.read(members[MANIFEST]))
        files = manifest["files"]
        sound = all(type(file["bytes"]) is int and type(file["sha256"]) is str for file in files.values())
    except RecursionError:
        _refuse(path, MANIFEST, "is nested too deeply")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        _refuse(path, MANIFEST, f"cannot be read: {error!r:.200}")
    if not sound:
        _refuse(path, MANIFEST, "does not have the bytes and the sha256 of every file")
    return dict(manifest)


def _check_manifest(path: Path, manifest: Mapping[str, Any], members: Mapping[str, zipfile.ZipInfo]) -> None:
    listed = manifest["files"]
    for name in sorted(set(listed) ^ (set(members) - {MANIFEST})):
        _refuse(path, name, f"is in {MANIFEST} only" if name in listed else f"is not in {MANIFEST}")
    for name, facts in listed.items():
        if members[name].file_size != facts["bytes"]:
            _refuse(path, name, f"has {members[name].file_size:,} bytes, not {facts['bytes']:,}")


def _write_member(
    path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, sha256: str
) -> None:
    """Write one new file, never through a link; delete it if it differs from the manifest."""
    target.parent.mkdir(parents=True, exist_ok=True)
    hashed = hashlib.sha256()
    with archive.open(member) as source, target.open("xb") as file:
        while block := source.read(_BLOCK):
            hashed.update(block)
            file.write(block)
    if hashed.hexdigest() != sha256:
        target.unlink()
        _refuse(path, member.filename, f"does not match {MANIFEST}: its SHA-256 differs")
