"""`analytics.json`: the locations of a run's artifacts, for tools that do not know the worker. Paths inside
the run folder are stored relative to it, so that the folder can be moved."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Mapping, Sequence, Union

from mosaic_contract.codec import write_whole

AnyPath = Union[str, os.PathLike[str]]

_WANDB = ("project", "entity", "run_id", "run_name", "url")


def write_analytics(
    run_dir: Path,
    *,
    run_id: str,
    worker_type: str,
    tensorboard_dir: AnyPath | None = None,
    checkpoints_dir: AnyPath | None = None,
    checkpoints: Sequence[AnyPath] = (),
    checkpoint_format: str = "",
    best_checkpoint: AnyPath | None = None,
    videos_dir: AnyPath | None = None,
    wandb: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Path:
    """Write the manifest atomically and return its path. The last of `checkpoints` is the final one. `wandb`
    may have project, entity, run_id, run_name and url. Raises `OSError`."""

    def stored_path(path: AnyPath | None) -> str | None:
        if path is None:
            return None
        absolute = Path(run_dir, path).resolve()
        root = Path(run_dir).resolve()
        return str(absolute.relative_to(root)) if root in absolute.parents else str(absolute)

    files = [stored_path(path) for path in checkpoints]
    manifest = {
        "run_id": run_id,
        "worker_type": worker_type,
        "artifacts": {
            "tensorboard": {"log_dir": stored_path(tensorboard_dir), "enabled": tensorboard_dir is not None},
            "wandb": {**{name: (wandb or {}).get(name) for name in _WANDB}, "enabled": wandb is not None},
            "checkpoints": {
                "directory": stored_path(checkpoints_dir),
                "format": checkpoint_format or None,
                "files": files,
                "best_checkpoint": stored_path(best_checkpoint),
                "final_checkpoint": files[-1] if files else None,
            },
            "logs_dir": None,
            "videos_dir": stored_path(videos_dir),
        },
        "metadata": dict(metadata or {}),
    }
    path = Path(run_dir) / "analytics.json"
    write_whole(path, (json.dumps(manifest, indent=2) + "\n").encode())
    return path
