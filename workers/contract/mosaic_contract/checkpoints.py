"""Checkpoint files and their descriptions: `step-7.json` is stored beside `step-7.pt`. A description is
JSON::

    {"format": "mosaic-<worker>/<version>", "algorithm": …, "env_id": …, "seed": …, "step": …,
     "episodes": …, "hyperparameters": {…}, "observation_space": {…}, "action_space": {…}}
                     # or, for policies of several agents, "agents": {"red_0": its two spaces, …}

It may also contain "env_settings" (the keywords that the environment was made with), "wrappers" (the
environment's), "wrapper_statistics" (their running means and variances), "atari" (that wrapper's
preprocessing), and further fields of the worker. The spaces are the environment's, before any wrapper. The
worker chooses the format of the weights.
"""

from __future__ import annotations

import itertools
import json
import logging
import threading
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Collection, Iterable, Iterator, Mapping, Sequence, Union

from mosaic_contract.atari import ATARI, describe_preprocessing
from mosaic_contract.codec import read_document, write_whole
from mosaic_contract.config import TrainingConfig, is_wrapper
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.errors import ConfigError
from mosaic_contract.gymnasium_wrappers import training_statistics
from mosaic_contract.hyperparameters import ENV_KWARGS
from mosaic_contract.messages import ALONE
from mosaic_contract.space_compatibility import misfit
from mosaic_contract.wrappers import is_plain, observation_transform

Spaces = Mapping[str, Mapping[str, Any]]

_REQUIRED_FIELDS = {"algorithm": str, "env_id": str, "step": int, "episodes": int, "hyperparameters": dict}
_SPACES = ("observation_space", "action_space")
_ARCHIVE_SUFFIXES = (".npz", ".pt", ".zip")
"""Suffixes of files that are zip archives, regardless of the library that wrote them."""
_MAX_RATIO = 200
"""Maximum ratio of unpacked to packed size, so that a hostile archive cannot unpack for hours."""

log = logging.getLogger(__name__)


class Checkpoints:
    """The checkpoints of one training, each a file with a description.

    `description` is the shim's part of the description: format, hyperparameters, spaces, further fields.
    `contents` returns the bytes of the file (bytes, so that a full disk is an `OSError` for every library).
    `suffix` and `format` name the file format: ".pt", "torch".
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
            **describe_environment(config),
            **description,
        }
        self._contents = contents
        self._suffix, self._format = suffix, format
        self._interval = config.checkpoint_every
        self._saved_step = logger.steps
        self._saving = threading.Lock()

    def due(self, step: int) -> bool:
        """Return whether the next checkpoint is due at this step."""
        return step - self._saved_step >= self._interval

    def save(self, step: int) -> None:
        """Save the current state, unless it was already saved at this step.

        A full disk is logged. The training continues, but fails at its end if its last checkpoint is missing.
        Thread-safe. Any other error, from a signal or from `contents`, leaves no files behind, and the same
        step may be saved again.
        """
        with self._saving:
            if step == self._saved_step:
                return
            path = self._folder / f"step-{step}{self._suffix}"
            telemetry = self._logger.telemetry
            description = {
                **self._description, **describe_statistics(), "step": step, "episodes": telemetry.episodes
            }  # fmt: skip
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                write_with_description(path, self._contents(), description)
            except OSError as error:
                log.warning("no checkpoint at step %d: %s", step, error)
                telemetry.checkpoint_failed(error, step=step)
            else:
                metrics = self._logger.mean_return
                telemetry.checkpoint_saved(path, step=step, metrics=metrics, format=self._format)
            self._saved_step = step


def write_with_description(path: Path, data: bytes, description: Mapping[str, Any]) -> None:
    """Write a description, then its file, so that every file has a description. If either fails, neither
    remains. Raises `OSError`."""
    try:
        write_whole(description_of(path), json.dumps(description, indent=2).encode())
        write_whole(path, data)
    finally:
        if not path.exists():
            description_of(path).unlink(missing_ok=True)


def description_of(path: Path) -> Path:
    """Return the path of a checkpoint's description: beside a file, inside a folder."""
    return path / "description.json" if path.is_dir() else path.with_suffix(".json")


def read_description(
    path: Union[str, Path], format: str, algorithms: Collection[str]
) -> tuple[Path, dict[str, Any]]:
    """Return a checkpoint's absolute path and its description. Raises `ConfigError` if the description is
    missing, has another format or algorithm, or the file is damaged."""
    path = Path(path).expanduser().resolve()
    if not path.exists():
        raise ConfigError(f"there is no checkpoint {path}")
    file = description_of(path)
    try:
        described = read_document(file)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"{path} is not a checkpoint of this worker: {file.name}, which would describe it: {why}"
        ) from None
    if why := _description_problem(described, format, algorithms):
        raise ConfigError(f"{path} is not a checkpoint of this worker ({format}), by {file.name}: {why}")
    check_file(path)
    return path, described


@contextmanager
def loading(path: Path) -> Iterator[None]:
    """Convert any exception of a library that loads a checkpoint to a `ConfigError` about the file."""
    try:
        yield
    except ConfigError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise ConfigError(f"{path} cannot be loaded: {reason:.300}") from error


def check_file(path: Path) -> None:
    """Raise `ConfigError` if a checkpoint's file is damaged; see `damage`."""
    if why := damage(path):
        raise ConfigError(f"{path} cannot be loaded: {why}. Give another checkpoint")


def damage(path: Path) -> str:
    """Return what is wrong with a checkpoint whose suffix promises a zip archive; "" if nothing is, and for
    other files. The libraries that load weights would not detect a flipped bit."""
    if path.suffix not in _ARCHIVE_SUFFIXES or path.is_dir():
        return ""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            size = sum(part.file_size for part in parts)
            start = min((part.header_offset for part in parts), default=0)
            if size > _MAX_RATIO * path.stat().st_size:
                return f"it would unpack to {size:,} bytes"
            if start > 0:  # the end that was found is an inner archive's
                return "it is incomplete"
            damaged = archive.testzip()
            return f"it is damaged, {damaged} in it differs from its checksum" if damaged else ""
    except Exception as error:  # zipfile and zlib raise various errors for invalid bytes
        return _archive_problem(path, error)


def _archive_problem(path: Path, error: Exception) -> str:
    try:
        with path.open("rb") as file:
            start = file.read(24)
    except OSError as unreadable:
        return unreadable.strerror or str(unreadable)
    if not start:
        return "it is empty"
    if start.startswith(b"PK"):
        return f"it is damaged or incomplete ({error})"
    return f"it begins with {start!r}, not as a zip archive, which {path.suffix} files are"


def _description_problem(described: Mapping[str, Any], format: str, algorithms: Collection[str]) -> str:
    if described.get("format") != format:
        return f"it is of the format {described.get('format')!r:.100}"
    missing = [name for name, cls in _REQUIRED_FIELDS.items() if not isinstance(described.get(name), cls)]
    if missing:
        return f"it lacks {', '.join(missing)}"
    if described["algorithm"] not in algorithms:
        return f"it is of {described['algorithm']!r:.100}, which this worker does not have"
    agents = described.get("agents", {ALONE: described})
    complete = isinstance(agents, dict) and all(
        isinstance(spaces, dict) and all(isinstance(spaces.get(name), dict) for name in _SPACES)
        for spaces in agents.values()
    )
    return "" if agents and complete else "it lacks the spaces of its agents"


def spaces_of(described: Mapping[str, Any]) -> dict[str, Spaces]:
    """Return the spaces of a description by agent, under `ALONE` if there is one agent."""
    if "agents" in described:
        return dict(described["agents"])
    return {ALONE: {name: described[name] for name in _SPACES}}


def env_settings_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords that the environment was made with; none if the description has none."""
    settings = described.get("env_settings")
    return settings if isinstance(settings, dict) else {}


def describe_environment(config: TrainingConfig, *, restarts: bool = False) -> dict[str, Any]:
    """Return the description's fields about the keywords and the observation wrappers of a training's
    environment; empty if it has neither. `restarts` is passed to `atari.describe_preprocessing`."""
    settings = config.hyperparameters.get(ENV_KWARGS.name) or {}
    made_with = {"env_settings": settings, "wrappers": list(config.wrappers)}
    fields: dict[str, Any] = {name: value for name, value in made_with.items() if value}
    if ATARI in config.wrappers:
        fields[ATARI] = describe_preprocessing(config.env_id, settings, restarts=restarts)
    return fields


def describe_statistics() -> dict[str, Any]:
    """Return the description's field with the running statistics of the training's wrappers."""
    statistics = training_statistics().describe()
    return {"wrapper_statistics": statistics} if statistics else {}


def wrappers_of(described: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the wrappers of a training's environment; none if the description has none."""
    wrappers = described.get("wrappers")
    return tuple(filter(is_wrapper, wrappers)) if isinstance(wrappers, list) else ()


def space_misfit(trained: Mapping[str, Any], offered: Mapping[str, Any], wrappers: Sequence[Any] = ()) -> str:
    """Return why a training on one environment cannot continue in another, "" if it can.

    `trained` and `offered` describe the environments: "env_id", and spaces in the form read by `spaces_of`.
    Both have the `wrappers`; if spaces are alike before a wrapper with parameters, they are alike after it.
    """
    plain = list(itertools.takewhile(is_plain, wrappers))
    previous, current = spaces_of(trained), spaces_of(offered)
    if set(previous) != set(current):
        return f"its agents are {', '.join(sorted(current))}, the previous were {', '.join(sorted(previous))}"
    for agent, spaces in current.items():
        prefix = "" if agent == ALONE else f"{agent}: "
        observations = [
            observation_transform(space["observation_space"], plain, str(description.get("env_id"))).space
            for space, description in ((previous[agent], trained), (spaces, offered))
        ]
        actions = [space["action_space"] for space in (previous[agent], spaces)]
        for (old, new), noun in ((observations, "observations"), (actions, "actions")):
            if why := misfit(old, new, noun):
                return prefix + why
    return ""


def resume_misfits(
    config: TrainingConfig,
    path: Path,
    described: Mapping[str, Any],
    bound_to: Iterable[str],
    environment: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """Yield the reasons why a training cannot resume from a checkpoint, one sentence each.

    `bound_to` names the hyperparameters that cannot change. `environment` has the spaces of the run's
    environment in the form read by `spaces_of`, for trainings that may continue in another environment with
    the same spaces.
    """
    field = f"checkpoint.resume_from: {path.name}"
    saved_training = f"{described['algorithm']} on {described['env_id']}"
    if saved_training != f"{config.algorithm} on {config.env_id}":
        misfits = f"{field} is of {saved_training}, this run is of {config.algorithm} on {config.env_id}"
        if described["algorithm"] != config.algorithm or environment is None:
            yield misfits
            return
        if why := space_misfit(described, environment, wrappers_of(described)):
            yield f"{misfits}: {why}"
            return
    wrappers = wrappers_of(described)
    if config.wrappers not in ((), wrappers):
        trained = f"wrappers={list(wrappers)}" if wrappers else "no wrappers"
        yield (
            f"{field} was trained with {trained}, which it is bound to; this run has "
            f"wrappers={list(config.wrappers)}: omit them to use the checkpoint's"
        )
    for name in bound_to:
        saved = described["hyperparameters"].get(name)
        requested = config.hyperparameters.get(name, saved)
        if requested != saved:
            yield (
                f"{field} was trained with {name}={saved}, which it is bound to; this run has "
                f"{name}={requested}: omit it to use the checkpoint's"
            )
    if described["step"] >= config.end_step:
        name, _, step = config.end_field.partition("=")
        yield (
            f"{field} was saved at step {described['step']}; {name} counts from the beginning and "
            f"is {step}: raise it"
        )
