"""Helpers that forge bundles and check that opening them is refused."""

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
    """Return the contents of a bundle's files, by name."""
    with zipfile.ZipFile(bundle) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def about(members: Members) -> dict[str, Any]:
    """Return the manifest without its list of files."""
    return {name: value for name, value in json.loads(members["manifest.json"]).items() if name != "files"}


def bundled(path: Path, members: Members, changed: Members, **facts: Any) -> Path:
    """Write a bundle with changed files and a manifest that lists them all."""
    files = {name: content for name, content in members.items() if name != "manifest.json"} | changed
    archive.pack_bundle(path, files, about(members) | facts)
    return path


def tampered(path: Path, members: Members, *extra: tuple[zipfile.ZipInfo, bytes]) -> Path:
    """Write the members, their manifest unchanged, and ``extra`` members that it does not list."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
        for member, content in extra:
            bundle.writestr(member, content)
    return path


def refused(path: Path, says: str) -> None:
    """Assert that the bundle is refused with the message ``says`` and that no file was written."""
    before = _contents(path.parent)
    with pytest.raises(MosaicError, match=says):
        open_bundle(path, path.parent / "into")
    assert _contents(path.parent) == before


def _contents(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
