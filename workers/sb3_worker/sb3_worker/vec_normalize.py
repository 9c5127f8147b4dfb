"""Observation statistics of upstream's VecNormalize, from its pickle in a model's zip or beside it.

Nothing in the pickle is executed: arrays are read, and every other object becomes an inert one that only has
its state.
"""

from __future__ import annotations

import io
import logging
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

import numpy as np
from mosaic_contract import ConfigError
from mosaic_contract.errors import one_line

_NAMES = ("vecnormalize.pkl", "vec_normalize.pkl")  # of rl_zoo3, and of upstream's examples
_MAX_BYTES = 64 << 20  # bytes
_NUMPY = re.compile(r"numpy(\._?core)?(\.multiarray)?|numpy\._core\.multiarray")
_ARRAY_CLASSES = {"_reconstruct", "ndarray", "dtype", "scalar"}

log = logging.getLogger(__name__)

Observe = Callable[[Any], Any]


class _Inert:
    """An object of a pickle that is not an array."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if _NUMPY.fullmatch(module) and name in _ARRAY_CLASSES:
            return super().find_class(module, name)
        if (module, name) == ("_codecs", "encode"):  # of the bytes of arrays in old pickles
            return lambda text, encoding: text.encode("latin-1")
        return _Inert


def normalization_of(model: Path, observations: Any) -> Observe | None:
    """Return the function that normalizes an observation, None without statistics of these observations.
    Raises `ConfigError` if there are statistics that cannot be read."""
    file = next(_statistics_files(model), None)
    if file is None:
        return None
    name, content = file
    try:
        state: Any = _Reader(io.BytesIO(content)).load().state
        if not state.get("norm_obs", True):
            return None
        moments = state["obs_rms"]
        parts = moments if isinstance(moments, dict) else {"": moments}
        by_key = {key: _moments(statistics) for key, statistics in parts.items()}
        clip, epsilon = float(state["clip_obs"]), float(state["epsilon"])
    except Exception as error:  # a damaged pickle raises arbitrary exceptions
        raise ConfigError(
            f"{model.name}: {name} beside it is not the statistics of a VecNormalize ({one_line(error)}): "
            "rename it to play without them"
        ) from None
    if "" in by_key and by_key[""][0].shape != observations.shape:
        log.warning("%s is not used: its statistics are of observations %s", name, by_key[""][0].shape)
        return None
    log.info("observations are normalized by %s", name)

    def normalized(observation: Any, moments: tuple[Any, Any]) -> Any:
        mean, variance = moments
        return np.clip((observation - mean) / np.sqrt(variance + epsilon), -clip, clip).astype(np.float32)

    def observe(observation: Any) -> Any:
        if "" in by_key:
            return normalized(observation, by_key[""])
        return {
            key: normalized(part, by_key[key]) if key in by_key else part for key, part in observation.items()
        }

    return observe


def _moments(statistics: Any) -> tuple[Any, Any]:
    return np.asarray(statistics.state["mean"], float), np.asarray(statistics.state["var"], float)


def _statistics_files(model: Path) -> Iterator[tuple[str, bytes]]:
    """Yield statistics with their names: in the zip, then beside it, as callbacks and rl_zoo3 save them."""
    with zipfile.ZipFile(model) as archive:
        sizes: Mapping[str, int] = {part.filename: part.file_size for part in archive.infolist()}
        for name in _NAMES:
            if sizes.get(name, _MAX_BYTES) < _MAX_BYTES:
                yield name, archive.read(name)
    stem, folder = model.stem, model.parent
    of_callback = re.sub(r"_(\d+_steps)$", r"_vecnormalize_\1", stem)
    candidates = [folder / f"{of_callback}.pkl", folder / f"{stem}_vecnormalize.pkl"]
    candidates += [folder / name for name in _NAMES]
    candidates += sorted(folder.glob(f"*/{_NAMES[0]}"))
    for path in candidates:
        if path.is_file() and path.stat().st_size < _MAX_BYTES:
            yield path.name, path.read_bytes()
