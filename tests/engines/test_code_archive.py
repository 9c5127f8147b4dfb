"""MOSAIC's code on a node: unpacked once, deleted when no run has used it for months."""

from __future__ import annotations

import os
import time
from pathlib import Path

from mosaic_lab.engines.code_archive import pack_code, unpack_code

DAY = 86_400


def test_code_that_no_run_has_used_for_months_is_deleted(tmp_path: Path) -> None:
    shims = tmp_path / "shims"
    homes = [unpacked(tmp_path, shims, version) for version in ("1", "2")]
    for folder in homes:
        assert (folder / "mosaic_lab" / "engines" / "node.py").is_file()
        os.utime(folder, (0, time.time() - 100 * DAY))
    assert unpacked(tmp_path, shims, "2") == homes[1]  # used again, so kept
    newest = unpacked(tmp_path, shims, "3")
    assert sorted((tmp_path / "code").iterdir()) == sorted([homes[1], newest])


def unpacked(home: Path, shims: Path, version: str) -> Path:
    shims.mkdir(exist_ok=True)
    (shims / "version.py").write_text(version)
    return unpack_code(pack_code(shims), home)
