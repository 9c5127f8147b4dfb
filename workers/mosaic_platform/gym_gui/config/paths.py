"""Folders that workers write to: below the folder in the variable MOSAIC_PLATFORM_VAR, which the adapter sets
to one in the run's folder; else below `var` in the working folder."""

from __future__ import annotations

import os
from pathlib import Path

VAR_ROOT = Path(os.environ.get("MOSAIC_PLATFORM_VAR", "var")).absolute()
VAR_CACHE_DIR = VAR_ROOT / "cache"
VAR_LOGS_DIR = VAR_ROOT / "logs"
VAR_OPERATORS_DIR = VAR_ROOT / "operators"
VAR_OPERATORS_LOGS_DIR = VAR_OPERATORS_DIR / "logs"
VAR_OPERATORS_TELEMETRY_DIR = VAR_OPERATORS_DIR / "telemetry"
VAR_TELEMETRY_DIR = VAR_ROOT / "telemetry"
VAR_TMP_DIR = VAR_ROOT / "tmp"
VAR_TRAINER_DIR = VAR_ROOT / "trainer"
VAR_CUSTOM_SCRIPTS_DIR = VAR_TRAINER_DIR / "custom_scripts"
VAR_EVALS_DIR = VAR_TRAINER_DIR / "evals"
VAR_TENSORBOARD_DIR = VAR_WANDB_DIR = VAR_TRAINER_DIR / "runs"


def ensure_var_directories() -> None:
    """Create all of these folders."""
    for name, path in globals().items():
        if name.startswith("VAR_"):
            path.mkdir(parents=True, exist_ok=True)
