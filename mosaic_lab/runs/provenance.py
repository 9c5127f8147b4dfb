"""The recorded provenance of a run: versions, machine and git commit."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic_lab._version import __version__

_GIT_DEADLINE = 3.0  # seconds


def provenance(
    folder: Path, worker_environment: Mapping[str, Any], program: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return our version, interpreter, platform, git commit and the description of the worker environment.

    With ``program`` ({"path", "cwd"}, the user's program that the worker runs), also that program and its git
    commit.
    """
    facts = {
        "mosaic_lab": __version__,
        "python": sys.version,
        "python_executable": sys.executable,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cwd": str(folder),
        "git": git_state(folder),
        "environment": dict(worker_environment),
    }
    if program is not None:
        facts["program"] = {**program, "git": git_state(Path(program["cwd"]))}
    return facts


def git_state(folder: Path) -> dict[str, Any] | None:
    """Return ``{"commit", "dirty"}`` of the folder's repository; None without a repository or if git is too
    slow.

    ``dirty`` covers tracked files only, and is None if git took too long to determine it.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    if not commit:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=_GIT_DEADLINE, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
