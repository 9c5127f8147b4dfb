"""The recorded provenance of a run: versions, machine, git commit, and the user's module with its
environment. An id such as "module:Id" names that module, which is found on PYTHONPATH and identified by its
hash."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic_lab._version import __version__
from mosaic_lab.keeper.run_store import RunFolder

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
    slow. ``dirty`` covers tracked files only, and is None if git took too long to determine it."""
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


def module_path(env_id: object, variables: Mapping[str, str]) -> Path | None:
    """Return the file or package folder that a worker with these variables imports for an environment id.
    None for an id without a module and for a module among the worker's own packages."""
    module, colon, _ = str(env_id).partition(":")
    top = module.partition(".")[0]
    if not colon or not top.isidentifier():
        return None
    for folder in variables.get("PYTHONPATH", "").split(os.pathsep):
        package = Path(folder, top)
        if not package.is_absolute():
            continue  # relative to the working directory of the worker
        if (package / "__init__.py").is_file():
            return package
        if (file := package.with_suffix(".py")).is_file():
            return file
    return None


def source_files(module: Path) -> list[Path]:
    """Return the Python files of a module in a fixed order; none if it no longer exists."""
    if module.is_file():
        return [module]
    return sorted(file for file in module.rglob("*.py") if file.is_file())


def module_hash(module: Path) -> str:
    """Return the SHA-256 hash of the names and contents of a module's Python files."""
    hashed = hashlib.sha256()
    for file in source_files(module):
        content = file.read_bytes()
        hashed.update(f"{file.relative_to(module.parent).as_posix()}\0{len(content)}\0".encode())
        hashed.update(content)
    return hashed.hexdigest()


def recorded_module(env_id: object, variables: Mapping[str, str]) -> dict[str, str] | None:
    """Return the provenance entry of an environment's module; None without such a module."""
    if (module := module_path(env_id, variables)) is None:
        return None
    return {"path": str(module), "sha256": module_hash(module)}


def change_since(checkpoint: Path, env_id: str, variables: Mapping[str, str]) -> str:
    """Return a message if the module of an environment has changed since a run's ``checkpoint`` was trained.
    Empty if it is unchanged or was not recorded."""
    run = RunFolder(checkpoint.parent.parent)
    recorded: Any = run.document(run.provenance_path).get("module")
    module = module_path(env_id, variables)
    if not isinstance(recorded, dict) or module is None or module_hash(module) == recorded.get("sha256"):
        return ""
    return f"{module} has changed since {checkpoint.name} was trained in it"
