"""Bundles that were changed after they were written, and the check that they are refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation.sharing import archive, open_bundle

Members = dict[str, bytes]


def members_of(bundle: Path) -> Members:
    """Return the contents of a bundle's files by their names."""
    with zipfile.ZipFile(bundle) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def about(members: Members) -> dict[str, Any]:
    """The manifest's facts beside those of files."""
    return {name: value for name, value in json.loads(members["manifest.json"]).items() if name != "files"}


def bundled(path: Path, members: Members, changed: Members, **facts: Any) -> Path:
    """A bundle with other files, whose manifest vouches for all of them."""
    files = {name: content for name, content in members.items() if name != "manifest.json"} | changed
    archive.pack_bundle(path, files, about(members) | facts)
    return path


def tampered(path: Path, members: Members, *extra: tuple[zipfile.ZipInfo, bytes]) -> Path:
    """An honest bundle with more members, that its manifest does not know of."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
        for member, content in extra:
            bundle.writestr(member, content)
    return path


def refused(path: Path, says: str) -> None:
    """It is, with that; and nothing was written, neither inside nor beside."""
    before = set(path.parent.rglob("*"))
    with pytest.raises(MosaicError, match=says):
        open_bundle(path, path.parent / "into")
    assert set(path.parent.rglob("*")) == before
