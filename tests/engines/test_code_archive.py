"""MOSAIC's code on a node: unpacked once, deleted when no run has used it for months."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mosaic_lab.engines.code_archive import pack_code, unpack_code
from mosaic_lab.engines.node_environment import OUR_MODULES
from mosaic_lab.workers.shims import bundled_folder

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


@pytest.mark.parametrize(
    "module",
    [
        *("mosaic_lab.engines.node", "mosaic_lab.engines.node_environment"),
        *(f"{module}.__main__" for module in OUR_MODULES.values()),
    ],
)
def test_the_code_has_all_that_a_node_imports(module: str, tmp_path: Path) -> None:
    code = unpack_code(pack_code(bundled_folder()), tmp_path)
    path = os.pathsep.join([str(code), str(code / "workers" / "contract")])
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import {module}; print(mosaic_lab.__file__)"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == str(code / "mosaic_lab" / "__init__.py"), done.stderr


def unpacked(home: Path, shims: Path, version: str) -> Path:
    shims.mkdir(exist_ok=True)
    (shims / "version.py").write_text(version)
    return unpack_code(pack_code(shims), home)
