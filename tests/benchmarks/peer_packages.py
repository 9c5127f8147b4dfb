"""Environments with the packages of other projects, for comparison."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def install(place: Path, *packages: str) -> Path:
    """Install packages into a new environment; return its folder of programs, or skip the test."""
    uv = shutil.which("uv") or "uv"
    for command in (
        [uv, "venv", "-q", "--python", sys.executable, str(place)],
        [uv, "pip", "install", "-q", "--python", str(place / "bin/python"), *packages],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            pytest.skip(f"{', '.join(packages)} could not be installed: {done.stderr.strip()[-1000:]}")
    return place / "bin"


def version(programs: Path, package: str) -> str:
    """Return a package's name and version."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    command = [str(programs / "python"), "-c", code]
    return f"{package} {subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()}"
