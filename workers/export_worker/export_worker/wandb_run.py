"""A run as an offline run of Weights & Biases. Nothing is sent; `wandb sync` uploads it.

Every point is a row of the history with its own step and time. The step is a metric (`step`), as W&B's own
steps cannot repeat or go back, and rows would be lost where ours do.
"""

from __future__ import annotations

import os
import shutil
from glob import escape
from pathlib import Path
from typing import Mapping

os.environ["WANDB_ERROR_REPORTING"] = "false"  # read at import: crash reports go to the vendor

import wandb

from .exported_run import ExportedRun

PROJECT = "mosaic-lab"


class WandbRun:
    """An offline run in `out/wandb`, with the id of the run; an earlier export is replaced."""

    def __init__(self, run: ExportedRun, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        for older in out.glob(f"wandb/offline-run-*-{escape(run.id)}"):
            shutil.rmtree(older)
        self._run = wandb.init(
            project=PROJECT,
            id=run.id,
            name=run.name,
            group=run.group,
            tags=run.tags,
            notes=run.notes,
            config={**run.config, **run.hyperparameters},
            settings=wandb.Settings(
                mode="offline",
                root_dir=str(out),
                x_start_time=run.started,
                console="off",
                silent=True,
                disable_code=True,
                disable_git=True,
                x_disable_machine_info=True,
                x_disable_meta=True,
                x_disable_stats=True,
                x_save_requirements=False,
            ),
        )
        self._succeeded = run.succeeded
        self._run.define_metric("step", hidden=True)
        self._run.define_metric("*", step_metric="step")
        self._run.summary.update({"state": run.state, "reason": run.reason})

    def add(self, step: int, timestamp: float | None, values: Mapping[str, float]) -> None:
        """Write a row of the history."""
        time = {} if timestamp is None else {"_timestamp": timestamp}
        self._run.log({**values, "step": step, **time})

    def close(self) -> Path:
        """Return the folder of the offline run."""
        self._run.finish(exit_code=1 if self._succeeded is False else 0)
        return Path(self._run.dir).parent
