"""Transitions of a Minari dataset on disk: `data/metadata.json` and `data/main_data.hdf5` in its folder.

Only numbers, text and JSON are read; neither Minari nor upstream is imported. Observations and actions are
those of the environment, which this module passes through the wrappers of a training.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

import numpy as np
from mosaic_contract import ConfigError, read_document
from mosaic_contract.environment_spec import EnvironmentSpec
from mosaic_contract.errors import one_line
from mosaic_contract.gymnasium_wrappers import Wrapper, in_short
from mosaic_contract.spaces import describe_space, start_of
from mosaic_contract.wrappers import is_plain, observation_transform

Array = np.ndarray[Any, Any]
_FILE, _METADATA, _DATA = "main_data.hdf5", "metadata.json", "data"
_END_KEYS = ("terminations", "truncations")
_INDEX = "_index_{}"
"""The name of a part of a Tuple."""


def minari_folder(path: Path) -> Path | None:
    """Return the folder with the files of a Minari dataset, given the dataset's folder, this folder or its
    HDF5 file; None for any other path."""
    folders = (path / _DATA, path, path.parent) if path.name == _FILE else (path / _DATA, path)
    return next((folder for folder in folders if (folder / _METADATA).is_file()), None)


def read_minari(
    folder: Path, spec: EnvironmentSpec, wrappers: Sequence[Wrapper], limit: int
) -> dict[str, Array]:
    """Return the transitions of all episodes by upstream's names, with the observations that a training on
    the environment `spec` has within its wrappers, and actions as upstream's policies answer them.

    The last transition of an episode counts as truncated, unless it is terminated. Raises `ConfigError` for
    files that cannot be read, that were recorded in another environment, or that exceed `limit` bytes.
    """
    import h5py

    try:
        problems = list(_problems(read_document(folder / _METADATA), spec, wrappers))
    except (OSError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"dataset {folder}: its {_METADATA} cannot be read: {one_line(error)}") from None
    if problems:
        raise ConfigError([f"dataset {folder}: {problem}" for problem in problems])
    space = describe_space(spec.observation_space)
    observe = observation_transform(space, list(wrappers), spec.env_id).observe if wrappers else None
    try:
        with h5py.File(folder / _FILE, "r") as file:
            size = sum(_nbytes(file[name]) for name in file)
            if size > limit:
                raise ValueError(f"it has {size / 2**30:.1f} GiB of at most {limit / 2**30:.0f}")
            names = sorted(file, key=lambda name: int(name.rpartition("_")[2]))
            episodes = [_episode(file[name], observe) for name in names]
        keys = episodes[0] if episodes else {}
        arrays = {key: np.concatenate([episode[key] for episode in episodes]) for key in keys}
    except (OSError, KeyError, ValueError, IndexError, TypeError, RuntimeError, AttributeError) as error:
        raise ConfigError(f"dataset {folder} cannot be read as a Minari dataset: {one_line(error)}") from None
    if not len(arrays.get("rew", ())):
        raise ConfigError(f"dataset {folder} has no transitions")
    return {**arrays, "act": _network_actions(arrays["act"], spec.action_space)}


def _problems(
    described: Mapping[str, Any], spec: EnvironmentSpec, wrappers: Sequence[Wrapper]
) -> Iterator[str]:
    """Yield why a dataset with this metadata cannot be learned from, one sentence per reason."""
    if described.get("data_format") != "hdf5":
        yield f"its data_format is {described.get('data_format')!r:.100}, not 'hdf5'"
    env_id = _env_id(described)
    if env_id is not None and env_id != spec.env_id:
        yield f"it was recorded on {env_id!r:.100}, this run is on {spec.env_id!r}"
    if described.get("jpeg_encoding", True) and _has_pictures(described.get("observation_space")):
        yield (
            "its pictures are JPEG files, which differ from what the policy would see; write them with "
            "jpeg_encoding=False"
        )
    if stateful := [in_short(wrapper) for wrapper in wrappers if not is_plain(wrapper)]:
        yield (
            f"wrappers={stateful}: recorded observations pass only through wrappers of single observations, "
            "such as 'flat', 'one_hot' and 'image'"
        )
    if "atari" in wrappers:
        yield "wrappers=['atari']: recorded frames cannot be stacked as in training; use a dataset.hdf5"


def _env_id(described: Mapping[str, Any]) -> Any:
    """Return the id of the recorded environment, None if it is not known."""
    if "mosaic_lab" in described:
        return described["mosaic_lab"]["env_id"]
    return json.loads(described.get("env_spec") or "{}").get("id")


def _has_pictures(space: Any) -> bool:
    space = json.loads(space) if isinstance(space, str) else space
    if not isinstance(space, Mapping):
        return False
    parts = space.get("subspaces") or ()
    if any(map(_has_pictures, parts.values() if isinstance(parts, Mapping) else parts)):
        return True
    return space.get("dtype") == "uint8" and len(space.get("shape", ())) == 3


def _nbytes(node: Any) -> int:
    """Return the size of all arrays below a node, with observations once more, since each is also a next
    one."""
    if hasattr(node, "keys"):
        return sum(_nbytes(node[key]) * (2 if key == "observations" else 1) for key in node if key != "infos")
    return int(node.nbytes)


def _episode(group: Any, observe: Any) -> dict[str, Array]:
    observations, actions = _read(group["observations"]), group["actions"]
    if hasattr(actions, "keys"):
        raise ValueError("its actions are not one array")
    rewards = group["rewards"][...].reshape(-1)
    count = len(rewards)
    if observe is not None:
        observations = np.stack([observe(_observation_at(observations, step)) for step in range(count + 1)])
    elif not isinstance(observations, np.ndarray):
        raise ValueError("its observations are not one array; wrappers=['flat'] makes vectors of most")
    terminated, truncated = (group[name][...].astype(bool).reshape(-1) for name in _END_KEYS)
    if count:
        truncated[-1] |= not terminated[-1]
    columns = {"act": actions[...], "rew": rewards, "terminated": terminated, "truncated": truncated}
    if len(observations) != count + 1 or any(len(column) != count for column in columns.values()):
        raise ValueError(f"the arrays of {group.name} differ in length")
    return {"obs": observations[:-1], "obs_next": observations[1:], **columns}


def _read(node: Any) -> Any:
    """Return an array, or a dict or list of arrays for the parts of a Dict or Tuple."""
    if not hasattr(node, "keys"):
        array = node[...]
        return [text.decode() for text in array] if array.dtype.kind == "O" else array
    if _INDEX.format(0) in node:
        return [_read(node[_INDEX.format(index)]) for index in range(len(node))]
    return {key: _read(node[key]) for key in node}


def _observation_at(observations: Any, step: int) -> Any:
    """Return the observation of one step."""
    if isinstance(observations, dict):
        return {key: _observation_at(part, step) for key, part in observations.items()}
    if isinstance(observations, list) and not isinstance(observations[0], str):
        return [_observation_at(part, step) for part in observations]
    return observations[step]


def _network_actions(actions: Array, space: Any) -> Array:
    """Return recorded actions as upstream's policies answer them: counted from 0, or from -1 to 1."""
    if not hasattr(space, "high"):
        return actions.reshape(len(actions), -1)[:, 0] - start_of(space)
    scaled = 2 * (actions - space.low) / (space.high - space.low) - 1
    return np.clip(scaled, -1, 1).astype(space.dtype)
