"""Files of weights that somebody else made: no code may be in them.

Crosses the boundary: `danger_in`. A ``.pt`` file is a zip file with a pickle, and to load a pickle is to call
what it names. Loaders that take weights only refuse anything but tensors; this looks before any loader does,
without loading: at the names in the pickle, as the standard library's `pickletools` lists them.
"""

from __future__ import annotations

import pickletools
import re
import zipfile
from pathlib import Path

from mosaic_lab.sharing.archive import UNREADABLE

_HARMLESS = re.compile(
    r"torch\._utils _rebuild_(tensor(_v2)?|parameter)|collections OrderedDict"
    r"|torch (\w+Storage|Size|device|float\d+|bfloat16|u?int\d+|bool)"
)
_CALLS = {"GLOBAL", "STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4"}
_LARGEST = 64 << 20  # bytes of a pickle; the tensors are in files of their own
_MEMBERS = 100_000
_ZIP = b"PK\x03\x04"


def danger_in(path: Path) -> str:
    """Why a ``.pt`` file must not be loaded, as the end of a sentence; empty where nothing speaks against
    it."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            file.seek(0)
            if file.read(4) != _ZIP or min((one.header_offset for one in members), default=1):
                raise zipfile.BadZipFile  # a loader would read what stands in front of what is looked at here
            if len(members) > _MEMBERS:
                return f"holds {len(members):,} files"
            pickles = [member for member in members if member.filename.endswith(".pkl")]
            if len(pickles) != 1 or pickles[0].file_size > _LARGEST:
                return f"is no file of weights: it holds {len(pickles)} pickles, or one too large for that"
            return _danger_in(archive.read(pickles[0]))
    except (*UNREADABLE, OSError):
        return "is a plain pickle or no file of weights: what loads it may run code of whoever made it"


def _danger_in(pickled: bytes) -> str:
    try:
        for operation, argument, _ in pickletools.genops(pickled):
            if operation.name in _CALLS and not _HARMLESS.fullmatch(str(argument)):
                named = "code" if argument is None else repr(str(argument)[:100])
                return f"is a pickle that would call {named} when it is loaded"
    except ValueError as error:
        return f"holds a pickle that cannot be read: {error}"
    return ""
