"""Checkpoints: `step-N.zip` as saved by upstream, with its description in `step-N.json`.

The newest checkpoint's replay buffer is `replay_buffer.npz` in the run's folder. Upstream pickles it; here
only its arrays are written and read.
"""

from __future__ import annotations

import functools
import io
import logging
import zipfile
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import torch
from mosaic_contract import ConfigError
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.pytorch import load_optimizer
from stable_baselines3 import __version__ as upstream_version
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.save_util import recursive_getattr

from .config import Sb3Plan
from .model_zip import ModelZip

log = logging.getLogger(__name__)

_COUNTERS = ("_n_updates", "_episode_num", "_n_calls", "_current_progress_remaining", "exploration_rate")
"""Counters of upstream's algorithms, which also drive its schedules."""
_REPLAY_FILE = "replay_buffer.npz"
_ARRAYS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
_MAX_BYTES = 2 << 30  # bytes of arrays


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
        _restore_replay(plan, model, path.parents[1] / _REPLAY_FILE)


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
            if (variable := recursive_getattr(model, name)) is not None and variables.get(name) is not None:
                variable.data = variables[name].data
    except (RuntimeError, ValueError, KeyError) as error:
        raise ConfigError(f"the weights of {saved.path} do not fit: {error}") from None


def _restore_replay(plan: Sb3Plan, model: OffPolicyAlgorithm, path: Path) -> None:
    assert model.replay_buffer is not None
    if reason := _load_replay(model.replay_buffer, path, plan.start_step):
        log.warning("the replay buffer is not restored, and %d random steps come first: %s",
                    model.learning_starts, reason)  # fmt: skip
        model.learning_starts += plan.start_step


def _contents(plan: Sb3Plan, model: BaseAlgorithm, logger: EpisodeLogger) -> bytes:
    if isinstance(model, OffPolicyAlgorithm) and plan.hyperparameters["save_replay_buffer"]:
        assert model.replay_buffer is not None
        _save_replay(model.replay_buffer, plan.config.run_dir / _REPLAY_FILE, logger.steps)
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def _save_replay(buffer: ReplayBuffer, path: Path, step: int) -> None:
    """Write the transitions, oldest first, with the step of their checkpoint. If the buffer is too large or
    the disk full, no file is written, which is logged."""
    order = _oldest_first(buffer)
    arrays = dict(_arrays_of(buffer))
    size = sum(array[:1].nbytes for array in arrays.values()) * len(order)
    if size > _MAX_BYTES:
        log.warning("the replay buffer is not saved: %.1f GiB of at most %d", size / 2**30, _MAX_BYTES >> 30)
        return
    part = path.with_suffix(".part")
    try:
        with part.open("wb") as file:
            np.savez(file, step=step, **{name: array[order] for name, array in arrays.items()})
        part.replace(path)
    except OSError as error:
        log.warning("the replay buffer is not saved: %s", error)
    finally:
        part.unlink(missing_ok=True)


def _load_replay(buffer: ReplayBuffer, path: Path, step: int) -> str:
    """Load the newest transitions of a file into an empty buffer. Return the reason for a failure, "" on
    success."""
    if not path.is_file():
        return f"there is no {path}"
    try:
        with np.load(path, allow_pickle=False) as file:
            if int(file["step"]) != step:
                return f"{path} is of the checkpoint at step {int(file['step'])}"
            saved = {name: file[name] for name in dict(_arrays_of(buffer))}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        return f"{path} cannot be read: {error}"
    count = min(min(map(len, saved.values())), buffer.buffer_size)
    for name, array in _arrays_of(buffer):
        if saved[name].shape[1:] != array.shape[1:]:
            return f"{path} has {name} of the shape {saved[name].shape[1:]}, not {array.shape[1:]}"
    for name, array in _arrays_of(buffer):
        array[:count] = saved[name][-count:] if count else saved[name][:0]
    if count:  # later transitions belong to other episodes
        buffer.dones[count - 1] = buffer.timeouts[count - 1] = 1
    buffer.pos, buffer.full = count % buffer.buffer_size, count == buffer.buffer_size
    return ""


def _oldest_first(buffer: ReplayBuffer) -> Any:
    if not buffer.full:
        return np.arange(buffer.pos)
    return np.roll(np.arange(buffer.buffer_size), -buffer.pos)


def _arrays_of(buffer: ReplayBuffer) -> Iterator[tuple[str, Any]]:
    """Yield (name, array) of a buffer; the parts of a Dict are named "observations/part"."""
    for name in _ARRAYS:
        value: Any = getattr(buffer, name)
        if isinstance(value, dict):
            yield from ((f"{name}/{key}", array) for key, array in value.items())
        else:
            yield name, value
