"""Checkpoints as files, and what describes them: `step-7.json` lies beside `step-7.pt`.

Crosses the boundary: the description, JSON::

    {"format": "mosaic-<worker>/<version>", "algorithm": …, "env_id": …, "seed": …, "step": …,
     "episodes": …, "hyperparameters": {…}, "observation_space": {…}, "action_space": {…}}
                     # or, of several agents' policies, "agents": {"red_0": the two spaces of each, …}

also "env_settings", the keywords that the environment was made with, and "wrappers", the names of the
wrappers of its observations, where there were any, and whatever else a worker wants to know again. The spaces
are the environment's own, before any wrapper. The weights themselves are the worker's affair.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any, Callable, Collection, Iterable, Iterator, Mapping, Union

from mosaic_contract.codec import read_document
from mosaic_contract.config import TrainingConfig
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.errors import ConfigError
from mosaic_contract.messages import ALONE

Spaces = Mapping[str, Mapping[str, Any]]

_DESCRIBED = {"algorithm": str, "env_id": str, "step": int, "episodes": int, "hyperparameters": dict}
_SPACES = ("observation_space", "action_space")

log = logging.getLogger(__name__)


class Checkpoints:
    """Saves those of one training: a file each, with its description.

    `description` is what only the shim knows: format, hyperparameters, spaces, and whatever else it wants.
    `contents` makes the file's bytes (bytes, so that a full disk is an `OSError`, whatever library they are
    of), `suffix` and `format` say what they are: ".pt", "torch".
    """

    def __init__(
        self,
        config: TrainingConfig,
        logger: EpisodeLogger,
        description: Mapping[str, Any],
        contents: Callable[[], bytes],
        *,
        suffix: str,
        format: str,
    ) -> None:
        self._folder = config.checkpoints_dir
        self._logger = logger
        self._description = {
            "algorithm": config.algorithm,
            "env_id": config.env_id,
            "seed": config.seed,
            **({"wrappers": list(config.wrappers)} if config.wrappers else {}),
            **description,
        }
        self._contents = contents
        self._suffix, self._format = suffix, format
        self._every = config.checkpoint_every
        self._saved = logger.steps
        self._saving = threading.Lock()

    def due(self, step: int) -> bool:
        """Whether as many steps have passed as from one checkpoint to the next."""
        return step - self._saved >= self._every

    def save(self, step: int) -> None:
        """Save the state as it is, unless that was done at this step. A full disk costs the checkpoint, not
        the training: it is told to the log. Safe to call from several threads; what else is raised, by a
        signal or by `contents`, leaves nothing behind, and the same step may be saved again.
        """
        with self._saving:
            if step == self._saved:
                return
            path = self._folder / f"step-{step}{self._suffix}"
            telemetry = self._logger.telemetry
            description = {**self._description, "step": step, "episodes": telemetry.episodes}
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                write_described(path, self._contents(), description)
            except OSError as error:
                log.warning("no checkpoint at step %d: %s", step, error)
            else:
                told = self._logger.mean_return
                telemetry.checkpoint_saved(path, step=step, metrics=told, format=self._format)
            self._saved = step


def write_described(path: Path, data: bytes, description: Mapping[str, Any]) -> None:
    """Write a file, and before it what describes it: a file that is there is described, and what is not there
    is not. Raises `OSError`.
    """
    try:
        write_whole(description_of(path), json.dumps(description, indent=2).encode())
        write_whole(path, data)
    finally:
        if not path.exists():
            description_of(path).unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there as a whole or not at all. Raises `OSError`."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def description_of(path: Path) -> Path:
    """The file that describes a checkpoint: beside a file, inside of a folder."""
    return path / "description.json" if path.is_dir() else path.with_suffix(".json")


def read_description(
    path: Union[str, Path], format: str, algorithms: Collection[str]
) -> tuple[Path, dict[str, Any]]:
    """A checkpoint's absolute path and its description. Raises `ConfigError` where there is none, or none of
    this format and of one of these algorithms.
    """
    path = Path(path).expanduser().resolve()
    if not path.exists():
        raise ConfigError(f"there is no checkpoint {path}")
    file = description_of(path)
    try:
        described = read_document(file)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} is not a checkpoint of this worker: {file.name}, which would describe it: {error}"
        ) from None
    if why := _wrong(described, format, algorithms):
        raise ConfigError(f"{path} is not a checkpoint of this worker ({format}), by {file.name}: {why}")
    return path, described


def _wrong(described: Mapping[str, Any], format: str, algorithms: Collection[str]) -> str:
    if described.get("format") != format:
        return f"it is of the format {described.get('format')!r:.100}"
    if missing := [name for name, kind in _DESCRIBED.items() if not isinstance(described.get(name), kind)]:
        return f"it lacks {', '.join(missing)}"
    if described["algorithm"] not in algorithms:
        return f"it is of {described['algorithm']!r:.100}, which this worker does not have"
    agents = described.get("agents", {ALONE: described})
    told = isinstance(agents, dict) and all(
        isinstance(of, dict) and isinstance(of.get(name), dict) for of in agents.values() for name in _SPACES
    )
    return "" if agents and told else "it does not tell the spaces of its agents"


def spaces_of(described: Mapping[str, Any]) -> dict[str, Spaces]:
    """The described spaces by agent, `ALONE` for the only one's."""
    if "agents" in described:
        return dict(described["agents"])
    return {ALONE: {name: described[name] for name in _SPACES}}


def env_settings_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that the environment was made with, as far as they are described."""
    settings = described.get("env_settings")
    return settings if isinstance(settings, dict) else {}


def wrappers_of(described: Mapping[str, Any]) -> tuple[str, ...]:
    """The wrappers of the environment's observations, by name, as far as they are described."""
    names = described.get("wrappers")
    return tuple(map(str, names)) if isinstance(names, list) else ()


def resume_misfits(
    config: TrainingConfig, path: Path, described: Mapping[str, Any], bound_to: Iterable[str]
) -> Iterator[str]:
    """Why a training cannot go on from a checkpoint, one sentence a reason. `bound_to` names the
    hyperparameters that it can go on with only as they were.
    """
    told = f"checkpoint.resume_from: {path.name}"
    of = f"{described['algorithm']} on {described['env_id']}"
    if of != f"{config.algorithm} on {config.env_id}":
        yield f"{told} is of {of}, this run is of {config.algorithm} on {config.env_id}"
        return
    wrappers = wrappers_of(described)
    if config.wrappers not in ((), wrappers):
        trained = f"wrappers={list(wrappers)}" if wrappers else "no wrappers"
        yield (
            f"{told} was trained with {trained}, which it is bound to; this run asks for "
            f"wrappers={list(config.wrappers)}: leave them out, and the checkpoint's are taken"
        )
    for name in bound_to:
        saved = described["hyperparameters"].get(name)
        asked = config.hyperparameters.get(name, saved)
        if asked != saved:
            yield (
                f"{told} was trained with {name}={saved}, which it is bound to; this run asks for "
                f"{name}={asked}: leave it out, and the checkpoint's is taken"
            )
    if described["step"] >= config.total_timesteps:
        yield (
            f"{told} was saved at step {described['step']}; total_timesteps counts from the beginning and is "
            f"{config.total_timesteps}: raise it"
        )
