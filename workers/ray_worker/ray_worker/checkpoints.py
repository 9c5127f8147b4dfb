"""Checkpoints: `step-N.pt` with the weights of all policies, `step-N.json`, which describes it, and the
folder `step-N.rllib`, which is upstream's own.

The file is what acts, and loads with `weights_only=True`. The folder is what training goes on from, with
upstream's optimisers, counters and pickles: whoever resumes from one trusts it.
"""

from __future__ import annotations

import io
import logging
import pickle
import shutil
from pathlib import Path
from typing import Any

import torch
from mosaic_contract import ConfigError
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.journal import Journal
from ray import __version__ as upstream_version

from .config import FORMAT, Plan, rllib_folder

log = logging.getLogger(__name__)


class Saving:
    """The checkpoints of one training."""

    def __init__(self, plan: Plan, algorithm: Any, journal: Journal) -> None:
        description = {
            "format": FORMAT,
            "algorithm": plan.algorithm.name,
            "env_id": plan.config.env_id,
            "seed": plan.config.seed,
            "hyperparameters": plan.hyperparameters,
            **plan.world.describe_spaces(),
            "policy_of": plan.policy_of,
            "upstream": {"library": "ray", "version": upstream_version},
        }
        self._algorithm = algorithm
        self._folder = plan.config.checkpoints_dir
        self._saved = plan.start_step
        self._files = Checkpoints(
            plan.config, journal, description, self._contents, suffix=".pt", format="torch"
        )
        self.due = self._files.due

    def save(self, step: int) -> None:
        """Save the state as it is, unless that was done at this step."""
        if step == self._saved:
            return
        self._saved = step
        folder = rllib_folder(self._folder / f"step-{step}.pt").absolute()
        partial = folder.with_name(f"{folder.name}.partial")
        try:
            self._algorithm.save_to_path(partial)
            partial.rename(folder)
        except OSError as error:  # a full disk costs the checkpoint, not the training
            log.warning("no checkpoint at step %d: %s", step, error)
            shutil.rmtree(partial, ignore_errors=True)
            return
        self._files.save(step)

    def _contents(self) -> bytes:
        group = self._algorithm.learner_group
        modules = group.get_state(components="learner/rl_module")["learner"]["rl_module"]
        weights = {
            policy: {name: torch.as_tensor(array) for name, array in state.items()}
            for policy, state in modules.items()
        }
        file = io.BytesIO()
        torch.save({"policies": weights}, file)
        return file.getvalue()


def load(path: Path) -> dict[str, dict[str, Any]]:
    """The weights of each policy. Raises `ConfigError` for files that are damaged or are none."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(state, dict) or not isinstance(state.get("policies"), dict):
            raise ValueError("it holds no policies")
    except (OSError, ValueError, RuntimeError, EOFError, KeyError, pickle.UnpicklingError) as error:
        raise ConfigError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from None
    return dict(state["policies"])


def restore(algorithm: Any, path: Path) -> None:
    """Put upstream's own checkpoint into an algorithm that was built alike. Raises `ConfigError`."""
    folder = rllib_folder(path)
    try:
        algorithm.restore_from_path(str(folder))
    except Exception as error:  # whatever upstream and its pickles make of a damaged one
        raise ConfigError(f"{folder} cannot be loaded: {type(error).__name__}: {error}") from error
