"""Checkpoints: `step-N.pt` with the weights of all policies, `step-N.json` with their description, and the
folder `step-N.rllib` with upstream's own checkpoint.

Operators load the file with `weights_only=True`. Training resumes from the folder, which contains upstream's
optimizers, counters and pickles: resume only from a folder you trust.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from mosaic_contract.atari import ATARI
from mosaic_contract.checkpoints import Checkpoints, describe_environment, loading
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.pytorch import torch_bytes
from ray import __version__ as upstream_version

from .config import RllibPlan, rllib_folder


def checkpoints_of(plan: RllibPlan, algorithm: Any, logger: EpisodeLogger) -> Checkpoints:
    """Return the checkpoints of one training; each saves the state at the logger's step."""
    details: dict[str, Any] = {"policy_of": plan.policy_of}
    if plan.spec.games:
        details["in_turns"] = True
    if ATARI in plan.config.wrappers:
        details[ATARI] = {**describe_environment(plan.config)[ATARI], "signs_of_rewards": False}

    def contents() -> bytes:
        file = plan.config.checkpoints_dir / f"step-{logger.steps}.pt"
        _save_folder(algorithm, rllib_folder(file).absolute())
        return _weights(algorithm)

    upstream = "ray", upstream_version
    return plan.checkpoints(logger, contents, suffix=".pt", format="torch", upstream=upstream, **details)


def _save_folder(algorithm: Any, folder: Path) -> None:
    """Write upstream's own checkpoint completely or not at all. Raises `OSError`."""
    partial = folder.with_name(f"{folder.name}.partial")
    try:
        algorithm.save_to_path(partial)
        shutil.rmtree(folder, ignore_errors=True)  # left by a save at the same step that a signal interrupted
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _weights(algorithm: Any) -> bytes:
    modules = algorithm.learner_group.get_state(components="learner/rl_module")["learner"]["rl_module"]
    weights = {
        policy: {name: torch.tensor(array) for name, array in state.items()}
        for policy, state in modules.items()
    }
    return torch_bytes({"policies": weights})


def restore(algorithm: Any, path: Path) -> None:
    """Load upstream's own checkpoint into an algorithm with the same configuration. Raises `ConfigError`."""
    folder = rllib_folder(path)
    with loading(folder):
        algorithm.restore_from_path(str(folder))
