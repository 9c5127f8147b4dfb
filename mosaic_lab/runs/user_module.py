"""The user's module that defines an environment ("module:Id"), located on PYTHONPATH and identified by its
hash."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic_lab.keeper.run_store import RunFolder


def module_path(env_id: object, variables: Mapping[str, str]) -> Path | None:
    """Return the file or package folder that a worker with these variables imports for an environment's id.

    None for an id without a module, and for a module of the worker's own packages.
    """
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
    """Return the entry in a run's provenance for the module of its environment."""
    if (module := module_path(env_id, variables)) is None:
        return None
    return {"path": str(module), "sha256": module_hash(module)}


def change_since(checkpoint: Path, env_id: str, variables: Mapping[str, str]) -> str:
    """Return a message if the module of an environment has changed since a run's ``checkpoint`` was trained.

    Empty if it is unchanged or was not recorded.
    """
    run = RunFolder(checkpoint.parent.parent)
    recorded: Any = run.document(run.provenance_path).get("module")
    module = module_path(env_id, variables)
    if not isinstance(recorded, dict) or module is None or module_hash(module) == recorded.get("sha256"):
        return ""
    return f"{module} has changed since {checkpoint.name} was trained in it"
