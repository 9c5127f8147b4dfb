"""Datasets: recorded transitions, in the HDF5 format of upstream's replay buffers or of Minari.

A dataset is `dataset.hdf5`, with `dataset.json` beside it, which describes its origin; a file without a
description is validated by its arrays alone. Upstream's own loader unpickles values that are not arrays; here
only numeric arrays are read. Upstream is not imported. `minari_files` reads Minari's.
"""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

import numpy as np
from mosaic_contract import ConfigError, read_document
from mosaic_contract.checkpoints import description_of, wrappers_of, write_with_description
from mosaic_contract.environment_spec import EnvironmentSpec
from mosaic_contract.errors import one_line
from mosaic_contract.gymnasium_wrappers import Wrapper

from .minari_files import minari_folder, read_minari

FORMAT = "mosaic-tianshou-dataset/1"
_MAX_BYTES = 8 * 2**30  # bytes of arrays
_MAX_INDEX_BYTES = 2**19  # bytes of each array with one number per environment, for up to 65,536 environments
_KEYS = ("obs", "act", "rew", "terminated", "truncated", "obs_next")
_INDICES = ("_offset", "_lengths", "last_index")
Array = np.ndarray[Any, Any]
Dataset = Mapping[str, Array]
"""Transitions in temporal order, one environment after another. The last transition of each environment
counts as truncated, since the following transition does not continue it."""


def read_dataset(
    path: Path, own_spec: EnvironmentSpec, spec: EnvironmentSpec, wrappers: Sequence[Wrapper]
) -> Dataset:
    """Return a dataset for an environment with the spaces `own_spec`, and `spec` after these wrappers. Raises
    `ConfigError` with all problems."""
    if (folder := minari_folder(path)) is not None:
        arrays: Dataset = read_minari(folder, own_spec, wrappers, _MAX_BYTES)
    elif path.is_file():
        arrays = _read(path, path.stat().st_mtime_ns)
    else:
        raise ConfigError(f"there is no dataset {path}")
    problems = [
        *(_origin_problems(path, spec.env_id, wrappers) if folder is None else ()),
        *_misfits(arrays, spec.observation_space, spec.action_space),
    ]
    if problems:
        raise ConfigError([f"dataset {path}: {problem}" for problem in problems])
    return arrays


def write_dataset(path: Path, buffer: Any, description: Mapping[str, Any]) -> None:
    """Save an upstream buffer with its description beside it. Raises `OSError`."""
    file = io.BytesIO()
    buffer.save_hdf5(file, compression="gzip")
    document = {"format": FORMAT, **description, "transitions": len(buffer)}
    write_with_description(path, file.getvalue(), document)


@functools.lru_cache(1)
def _read(path: Path, modified: int) -> Dataset:
    """Return the arrays of a file with this modification time, so that training uses the same data as
    validation."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return _arrays(file)
    except (OSError, KeyError, ValueError, IndexError, TypeError, RuntimeError) as error:
        raise ConfigError(
            f"dataset {path} cannot be read as a replay buffer of Tianshou: {one_line(error)}"
        ) from None


def _arrays(file: Any) -> dict[str, Array]:
    datasets = {key: file["_meta"][key] for key in _KEYS}
    size = sum(_size(key, dataset) for key, dataset in datasets.items())
    if size > _MAX_BYTES:
        raise ValueError(f"its arrays take {size / 2**30:.1f} GiB of at most {_MAX_BYTES / 2**30:.0f}")
    rows = list(_rows_by_environment(file, len(datasets["rew"])))
    order = np.concatenate(rows)
    if not len(order):
        raise ValueError("it holds no transitions")
    arrays = {key: dataset[...][order] for key, dataset in datasets.items()}
    for key in ("terminated", "truncated"):
        arrays[key] = arrays[key].astype(bool)
    last = np.cumsum([len(part) for part in rows if len(part)]) - 1
    arrays["truncated"][last] |= ~arrays["terminated"][last]
    return arrays


def _size(key: str, node: Any) -> int:
    """Return the size of an array in bytes. Raises `ValueError` if it is not an array."""
    if not hasattr(node, "nbytes"):
        raise ValueError(f"its {key} is not an array")
    return int(node.nbytes)


def _rows_by_environment(file: Any, rows: int) -> Iterator[Array]:
    """Yield the rows of each environment in temporal order: a full buffer is overwritten from the start."""
    if "_lengths" in file:
        for key in _INDICES:
            if (size := _size(key, file[key])) > _MAX_INDEX_BYTES:
                raise ValueError(f"its {key} takes {size} bytes of at most {_MAX_INDEX_BYTES}")
        starts, lengths, last = (file[key][...] for key in _INDICES)
        oldest = last + 1
    else:
        starts, lengths, oldest = [0], [file.attrs["_size"]], [file.attrs["_insertion_idx"]]
    stops = [*starts[1:], rows]
    for start, stop, length, first in zip(starts, stops, lengths, oldest, strict=True):
        if not 0 <= length <= stop - start <= rows:
            raise ValueError(f"{length} transitions do not fit into rows {start} to {stop} of {rows}")
        skipped = first - start if length == stop - start else 0
        yield start + (skipped + np.arange(length)) % max(1, stop - start)


def _origin_problems(path: Path, env_id: str, wrappers: Sequence[Wrapper]) -> Iterator[str]:
    file = description_of(path)
    if not file.exists():
        return
    try:
        described = read_document(file)
    except (OSError, ValueError) as error:
        yield f"{file.name}, which describes it: {error}"
        return
    if described.get("format") != FORMAT:
        yield f"{file.name} is of the format {described.get('format')!r:.100}, not {FORMAT}"
    elif described.get("env_id") != env_id:
        yield f"it was recorded on {described.get('env_id')!r:.100}, this run is on {env_id!r}"
    elif (recorded := wrappers_of(described)) != tuple(wrappers):
        yield f"it was recorded with wrappers={list(recorded)}, this run has wrappers={list(wrappers)}"


def _misfits(arrays: Dataset, observations: Any, actions: Any) -> Iterator[str]:
    count = len(arrays["rew"])
    discrete = not hasattr(actions, "high")
    shapes = {
        "obs": observations.shape,
        "obs_next": observations.shape,
        "act": () if discrete else actions.shape,
    }
    for key in _KEYS:
        array, shape = arrays[key], (count, *shapes.get(key, ()))
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            yield f"its {key} are not all finite numbers"
        elif array.shape != shape:
            yield f"its {key} have the shape {array.shape[1:]}, the environment's {shape[1:]}"
        elif key == "act":
            yield from _action_problems(array, int(actions.n) if discrete else None)


def _action_problems(array: Array, count: int | None) -> Iterator[str]:
    low, high = array.min(), array.max()
    if count is None and not -1 <= low <= high <= 1:
        yield (
            f"its act reach from {low:.4g} to {high:.4g}; they must be as Tianshou's policies answer: from "
            "-1 to 1, which is scaled to the action space"
        )
    elif count is not None and not (array.dtype.kind in "iu" and 0 <= low <= high < count):
        yield f"its act are {array.dtype} from {low} to {high}, the environment's are integers below {count}"
