"""`analytics.json` of a run: where its TensorBoard files, checkpoints and videos are."""

from __future__ import annotations

import logging

from mosaic_contract import Telemetry, write_analytics

from .config import ScriptPlan


def write_manifest(plan: ScriptPlan, telemetry: Telemetry, best_checkpoint: str | None) -> None:
    """Write the manifest of a run that ended, however it ended; a full disk does not make it fail."""
    try:
        _write(plan, telemetry, best_checkpoint)
    except OSError as error:
        logging.getLogger(__name__).warning("analytics.json could not be written: %s", error)


def _write(plan: ScriptPlan, telemetry: Telemetry, best_checkpoint: str | None) -> None:
    config = plan.config
    write_analytics(
        config.run_dir,
        run_id=config.run_id,
        worker_type="cleanrl",
        tensorboard_dir=config.tensorboard_dir,
        checkpoints_dir=config.checkpoints_dir if telemetry.checkpoints else None,
        checkpoints=telemetry.checkpoints,
        checkpoint_format="torch" if telemetry.checkpoints else "",
        best_checkpoint=best_checkpoint,
        videos_dir=config.videos_dir if config.videos_dir.exists() else None,
        metadata={
            "algorithm": plan.algorithm.name,
            "env_id": config.env_id,
            "seed": config.seed,
            "upstream": plan.upstream.describe(plan.algorithm.script),
        },
    )
