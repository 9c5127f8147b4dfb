"""The replay buffer as a file: `replay_buffer.npz` in the run's folder, for the newest checkpoint.

Upstream pickles it; here only its arrays are written and read.
"""

from __future__ import annotations

import logging
import zipfile
from pathlib import Path
from typing import Any, Iterator

import numpy as np
from stable_baselines3.common.buffers import ReplayBuffer

log = logging.getLogger(__name__)

_ARRAYS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
_LARGEST = 2 << 30  # bytes


def replay_path(run_dir: Path) -> Path:
    return run_dir / "replay_buffer.npz"


def save_replay(buffer: ReplayBuffer, path: Path, step: int) -> None:
    """Write the transitions, oldest first, with the step of their checkpoint. If the buffer is too large or
    the disk full, no file is written, which is logged."""
    order = _oldest_first(buffer)
    arrays = dict(_arrays_of(buffer))
    size = sum(array[:1].nbytes for array in arrays.values()) * len(order)
    if size > _LARGEST:
        log.warning("the replay buffer is not saved: %.1f GiB of at most %d", size / 2**30, _LARGEST >> 30)
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


def load_replay(buffer: ReplayBuffer, path: Path, step: int) -> str:
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
