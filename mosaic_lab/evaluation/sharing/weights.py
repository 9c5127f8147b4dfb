"""The check that untrusted weight files contain no code.

A ``.pt`` file is a zip file with a pickle, and loading a pickle calls the functions it names. Weights-only
loaders reject anything but tensors. This module checks files before any loader does, without loading them: it
inspects the names in the pickle as listed by the standard library's `pickletools`.

PyTorch has its own zip reader, which ignores the case of names, locates the list of members from the end of
the file, and reads ``data.pkl`` in the folder of the first member. Files that two readers could interpret
differently are rejected, so that this module checks exactly the data that PyTorch reads.
"""

from __future__ import annotations

import pickletools
import re
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import BinaryIO

from mosaic_lab.evaluation.sharing.archive import UNREADABLE

_HARMLESS = re.compile(
    r"torch\._utils _rebuild_(tensor(_v2)?|parameter)|collections OrderedDict"
    r"|torch (\w+Storage|Size|device|float\d+|bfloat16|u?int\d+|bool)"
)
_CALLS = {"GLOBAL", "STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4"}
_LARGEST = 4 << 20  # bytes of a pickle; 10,000 tensors, stored in other files, need one million
_MEMBERS = 100_000
_NAME = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+")
_ZIP = b"PK\x03\x04"

# The end of a zip file, and the preceding record in large files (as in all of PyTorch's).
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q4sLQL")
_LOCATOR64 = b"PK\x06\x07"


def danger_in(path: Path) -> str:
    """Return why a ``.pt`` file must not be loaded, as the end of a sentence; empty if it is safe."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            file.seek(0)
            if file.read(len(_ZIP)) != _ZIP:
                raise zipfile.BadZipFile  # a loader would read what precedes the data checked here
            if not _is_read_alike(file, archive):
                return "is a zip file that PyTorch may read differently from other programs"
            members = archive.infolist()
            if wrong := _wrong_members(members):
                return wrong
            return _danger_in(archive.read(next(member for member in members if _is_pickle(member))))
    except (*UNREADABLE, OSError):
        return "is a plain pickle or not a file of weights: loading it may run its author's code"


def danger_in_model(path: Path) -> str:
    """Return why the zip file of a Stable-Baselines3 model must not be loaded, as the end of a sentence;
    empty if it is safe.

    Its weights are files that `danger_in` checks. Its other pickles are strings in a JSON document, which the
    worker does not load.
    """
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
            for member in archive.infolist():
                if not member.filename.lower().endswith(".pth"):
                    continue
                if member.compress_type != zipfile.ZIP_STORED:
                    return f"has a compressed member {member.filename[:100]!r}"
                weights = Path(folder, "weights.pt")
                weights.write_bytes(archive.read(member))
                if danger := danger_in(weights):
                    return f"has a member {member.filename[:100]!r} that {danger}"
    except (*UNREADABLE, OSError):
        return "is not the zip file of a model"
    return ""


def _wrong_members(members: list[zipfile.ZipInfo]) -> str:
    """Return why the members are not those of a weight file, or are ambiguous, as the end of a sentence."""
    if len(members) > _MEMBERS:
        return f"has {len(members):,} files"
    top = members[0].orig_filename.partition("/")[0]
    seen: dict[str, str] = {}
    for member in members:
        name = member.orig_filename
        if not _NAME.fullmatch(name) or not name.startswith(f"{top}/"):
            return f"has a member {name[:100]!r}, which not all readers of zip files read alike"
        if (other := seen.setdefault(name.lower(), name)) is not name:
            return f"has two members {other[:100]!r} and {name[:100]!r}, which PyTorch does not distinguish"
        if member.compress_type != zipfile.ZIP_STORED:
            return f"is not a valid file of weights: its member {name[:100]!r} is compressed"
    pickles, read = [member for member in members if _is_pickle(member)], f"{top}/data.pkl"
    if [member.orig_filename.lower() for member in pickles] != [read.lower()]:
        return f"is not a valid file of weights: it has {len(pickles)} pickles, not just {read[:100]!r}"
    if pickles[0].file_size > _LARGEST:
        return f"is not a valid file of weights: its pickle has more than {_LARGEST >> 20} MiB"
    return ""


def _is_pickle(member: zipfile.ZipInfo) -> bool:
    return member.orig_filename.lower().endswith(".pkl")


def _is_read_alike(file: BinaryIO, archive: zipfile.ZipFile) -> bool:
    """Return whether the file consists only of its members, their list and its end record, without gaps."""
    if min((member.header_offset for member in archive.infolist()), default=1):
        return False
    file.seek(archive.start_dir)
    tail = file.read()
    count, offset = len(archive.infolist()), archive.start_dir
    is_zip64 = tail[-_END.size - 20 : -_END.size].startswith(_LOCATOR64)
    size = len(tail) - _END.size - (_END64.size if is_zip64 else 0)
    if size < 0 or tail[-_END.size :] != _END.pack(b"PK\x05\x06", 0, 0, count, count, size, offset, 0):
        return False
    if not is_zip64:
        return True
    _, length, _, _, *fields = _END64.unpack(tail[size : size + _END64.size])
    numbers = [0, 0, count, count, size, offset, _LOCATOR64, 0, offset + size, 1]
    return tail[size : size + 4] == b"PK\x06\x06" and length == 44 and fields == numbers


def _danger_in(pickled: bytes) -> str:
    try:
        for operation, argument, _ in pickletools.genops(pickled):
            if operation.name in _CALLS and not _HARMLESS.fullmatch(str(argument)):
                target = "code" if argument is None else repr(str(argument)[:100])
                return f"is a pickle that would call {target} when it is loaded"
    except ValueError as error:
        return f"has a pickle that cannot be read: {error}"
    return ""
