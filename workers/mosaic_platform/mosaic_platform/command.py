"""The command line of the platform's worker, and the environment variables of its processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Mapping

from mosaic_contract import ConfigError
from mosaic_contract.config import nearest

from .introduction import Introduction


def command(worker: Introduction, options: Mapping[str, object], *flags: str) -> list[str]:
    """Return the worker's command with `flags` and the `options` (names without "--") that it supports."""
    words = [sys.executable, "-m", worker.module, *flags]
    for name, value in options.items():
        if f"--{name}" in worker.options:
            words += [f"--{name}", str(value)]
    return words


def options_of(worker: Introduction, settings: Mapping[str, object]) -> dict[str, object]:
    """Return a user's settings, `policy_path=…`, as options. Raises `ConfigError` for unknown ones."""
    options = {name.replace("_", "-"): value for name, value in settings.items()}
    names = [option.removeprefix("--") for option in worker.options]
    problems = [
        f"{worker.name} has no option --{name}{nearest(name, names)}" for name in options if name not in names
    ]
    if problems:
        raise ConfigError(problems)
    return options


def variables(run_dir: Path) -> dict[str, str]:
    """Return the environment variables of a worker's process, whose files go below `run_dir`."""
    return {
        **os.environ,
        "MOSAIC_RUN_DIR": str(run_dir),
        "MOSAIC_PLATFORM_VAR": str(run_dir / "platform"),
        "PYTHONUNBUFFERED": "1",
    }
