"""Checkpoints: `step-N.zip` as saved by upstream, with its description in `step-N.json`."""

from __future__ import annotations

import functools
import io
import logging
from pathlib import Path

import torch
from mosaic_contract import ConfigError
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.pytorch import load_optimizer
from stable_baselines3 import __version__ as upstream_version
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.save_util import recursive_getattr

from .config import Sb3Plan
from .model_zip import ModelZip
from .replay import load_replay, replay_path, save_replay

log = logging.getLogger(__name__)

_COUNTERS = ("_n_updates", "_episode_num", "_n_calls", "_current_progress_remaining", "exploration_rate")
"""Counters of upstream's algorithms, which also drive its schedules."""


def checkpoints_of(plan: Sb3Plan, model: BaseAlgorithm, logger: EpisodeLogger) -> Checkpoints:
    """Return the checkpoints of one training."""
    contents = functools.partial(_contents, plan, model, logger)
    upstream = "stable-baselines3", upstream_version
    return plan.checkpoints(logger, contents, suffix=".zip", format="sb3", upstream=upstream)


def restore(plan: Sb3Plan, model: BaseAlgorithm) -> None:
    """Load the checkpoint's state into a model with the same configuration. Raises `ConfigError`."""
    if plan.resume_from is None:
        return
    path = plan.resume_from[0]
    saved = ModelZip(path)
    _restore_states(model, saved)
    for name in _COUNTERS:
        if hasattr(model, name):
            setattr(model, name, saved.number(name, getattr(model, name)))
    model.num_timesteps = plan.start_step
    if hasattr(model, "weights"):  # modified by ARS; its policy is made from them
        model.weights = torch.nn.utils.parameters_to_vector(model.policy.parameters()).detach()
    if isinstance(model, OffPolicyAlgorithm):
        _restore_replay(plan, model, replay_path(path.parents[1]))


def _restore_states(model: BaseAlgorithm, saved: ModelZip) -> None:
    states, variables = saved.parameters()
    names, variable_names = model._get_torch_save_params()
    try:
        for name in names:
            owner = recursive_getattr(model, name)
            if isinstance(owner, torch.optim.Optimizer):
                if name in states:  # a coefficient may become learned when resuming
                    load_optimizer(owner, states[name])
            else:
                owner.load_state_dict(states[name])
        for name in variable_names:
            if (own := recursive_getattr(model, name)) is not None and variables.get(name) is not None:
                own.data = variables[name].data
    except (RuntimeError, ValueError, KeyError) as error:
        raise ConfigError(f"the weights of {saved.path} do not fit: {error}") from None


def _restore_replay(plan: Sb3Plan, model: OffPolicyAlgorithm, path: Path) -> None:
    assert model.replay_buffer is not None
    if why := load_replay(model.replay_buffer, path, plan.start_step):
        log.warning("the replay buffer is not restored, and %d random steps come first: %s",
                    model.learning_starts, why)  # fmt: skip
        model.learning_starts += plan.start_step


def _contents(plan: Sb3Plan, model: BaseAlgorithm, logger: EpisodeLogger) -> bytes:
    if isinstance(model, OffPolicyAlgorithm) and plan.hyperparameters["save_replay_buffer"]:
        assert model.replay_buffer is not None
        save_replay(model.replay_buffer, replay_path(plan.config.run_dir), logger.steps)
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()
