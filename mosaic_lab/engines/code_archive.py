"""An archive of our own code for nodes, which use it to run keepers, build worker environments and play
evaluations."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
import time
import zipfile
from pathlib import Path

_PACKAGES = (
    *("arenas", "engines", "evaluation", "fastlane", "keeper"),
    *("operators", "runs", "serving", "telemetry", "workers"),
)
_SUFFIXES = {".py", ".toml", ".json", ".md", ".yaml", ".yml", ".cfg", ".typed"}
_LEFT_OUT = {"__pycache__", "tests", "build", "dist", "node_modules"}
_UNUSED = 90 * 86_400.0  # seconds after which code that no process has used is deleted
_EPOCH = (1980, 1, 1, 0, 0, 0)  # so that equal content gives equal archives


def pack_code(shims: Path) -> bytes:
    """Return the archive of this package, without its user interfaces, and of the folder ``shims``."""
    package = Path(__file__).resolve().parents[1]
    files = {path: f"mosaic_lab/{path.name}" for path in package.glob("*.py")}
    for root, prefix in [(package / name, f"mosaic_lab/{name}") for name in _PACKAGES] + [(shims, "workers")]:
        for path in root.rglob("*"):
            parts = path.relative_to(root).parts
            if path.suffix in _SUFFIXES and not _LEFT_OUT & {*parts} and path.is_file():
                files[path] = "/".join((prefix, *parts))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, name in sorted(files.items(), key=lambda item: item[1]):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED, 1)
    return buffer.getvalue()


def unpack_code(archive: bytes, home: Path) -> Path:
    """Return the folder below ``home`` with the archive's content, created by the first process. Also deletes
    versions of our code that have been unused for months."""
    folder = home / "code" / hashlib.sha256(archive).hexdigest()[:16]
    if folder.is_dir():
        os.utime(folder)
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as content:
            content.extractall(new)
        new.replace(folder)
    except OSError:
        if not folder.is_dir():  # another process was faster
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
    for unpacked in folder.parent.iterdir():
        if time.time() - unpacked.stat().st_mtime > _UNUSED:
            shutil.rmtree(unpacked, ignore_errors=True)
    return folder
