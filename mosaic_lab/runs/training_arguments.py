"""Convert arguments of `Lab.train` to a worker's configuration. Invalid values raise ConfigurationError."""

from __future__ import annotations

import json
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic_contract.config import WRAPPERS, is_wrapper
from mosaic_contract.gymnasium_wrappers import is_own, name_of

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs import Checkpoint, Run, RunGroup
from mosaic_lab.runs.checkpoint_path import checkpoint_path

_NAMED = 10  # maximum seeds listed in an error


def checkpoint_setting(source: Run | Checkpoint | Path | str | None) -> str | None:
    try:
        return None if source is None else str(checkpoint_path(source, intact=True))
    except ConfigurationError as error:
        raise ConfigurationError(f"resume_from: {error}") from None


def seed_list(seed: int | Iterable[int]) -> tuple[list[int], bool]:
    if isinstance(seed, Iterable) and not isinstance(seed, str | bytes):
        seeds = [whole_number("seed", number) for number in seed]
        if not seeds:
            raise ConfigurationError("seed: an empty list starts no run")
        if twice := sorted(number for number, times in Counter(seeds).items() if times > 1):
            raise ConfigurationError(
                f"seed has duplicates: {', '.join(map(str, twice[:_NAMED]))}; runs with the same seed "
                "would be the same: give each once"
            )
        return seeds, True
    return [whole_number("seed", seed)], False


def whole_number(name: str, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # users write 1e6
    try:
        return operator.index(value)
    except TypeError:
        raise ConfigurationError(f"{name}={value!r}: must be an integer") from None


def wrapper_list(given_wrappers: Sequence[str | Mapping[str, Any]], on: str | None) -> list[Any]:
    """Return the section of the configuration, with absolute paths of wrappers in the user's files."""
    if isinstance(given_wrappers, str | Mapping) or not all(map(is_wrapper, given_wrappers)):
        raise ConfigurationError(f"wrappers={given_wrappers!r}: must be {WRAPPERS}")
    wrappers = []
    for wrapper in json_value("wrappers", list(given_wrappers)):
        if is_own(wrapper):
            name = name_of(wrapper)
            file, _, attribute = name.rpartition(":")
            path = Path(file).expanduser().absolute()
            if not path.is_file():
                raise ConfigurationError(f"wrappers: {name}: there is no file {path}")
            if on is not None:
                raise ConfigurationError(f"wrappers: {name} is a file of this machine: leave out on={on!r}")
            absolute = f"{path}:{attribute}"
            wrapper = absolute if isinstance(wrapper, str) else {absolute: wrapper[name]}
        wrappers.append(wrapper)
    return wrappers


def nested(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyperparameters with dotted names as entries of tables: "env_kwargs.gravity" is an entry of
    "env_kwargs"."""
    tables = {name: value for name, value in hyperparameters.items() if "." not in name}
    for name in hyperparameters.keys() - tables.keys():
        table, _, entry = name.partition(".")
        if not isinstance(value := tables.get(table, {}), Mapping):
            raise ConfigurationError(f"{table}={value!r}: must be a table, because {name} is an entry of it")
        tables[table] = {**value, entry: hyperparameters[name]}
    return tables


def frame_settings(frames: bool | Mapping[str, Any]) -> dict[str, Any]:
    """Return the section of the configuration. The worker validates the contents of a mapping."""
    if isinstance(frames, Mapping):
        return {name: json_value(f"frames: {name}", value) for name, value in frames.items()}
    if isinstance(frames, bool):
        return {"enabled": frames}
    raise ConfigurationError(f'frames={frames!r}: must be True, False or settings, such as {{"grid": 4}}')


def json_value(what: str, value: Any) -> Any:
    """Return the value as JSON-compatible data, with NumPy numbers converted to Python's."""
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, Run | RunGroup | Checkpoint):
        raise ConfigurationError(
            f'{what}: must be a path, such as str(run.path / "dataset.hdf5"), not {value!r:.200}'
        )
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{what}={value!r} cannot be written as JSON: {error}") from None
    return value
