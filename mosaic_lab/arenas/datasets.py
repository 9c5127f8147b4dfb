"""Datasets of recorded episodes, written by the worker "minari" in its own environment.

Episodes are recorded by their arenas if ``record="observations"`` was requested; see
`mosaic_contract.episode_recording`.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_contract.episode_recording import OBSERVATIONS, bytes_of, recording_problem
from mosaic_contract.training_recorder import EPISODES

from mosaic_lab import workers
from mosaic_lab._version import __version__
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.errors import ConfigurationError, MosaicError, warn_user
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.keeper.tail import last_lines
from mosaic_lab.runs import Run
from mosaic_lab.telemetry import JsonlFollower

_DATA_FILE = Path("data", "metadata.json")
_OUR_KEY = "mosaic_lab"
"""The metadata key by which our datasets are recognized."""
_NAME = re.compile(r"[-\w]+?-v\d+", re.ASCII)
_LOG_LINES = 15
_SECONDS, _BYTES_PER_SECOND = 600.0, 2**20
_USUAL_STEPS = 1_000
"""Number of steps per episode assumed in estimates of a recording's size without ``max_steps``."""
_LARGE = 2**30
"""Estimated size of recordings, in bytes, from which a warning is given."""


@dataclass(frozen=True)
class RecordedEpisode:
    """An ended episode. ``total`` is its return, None if it failed. ``recording`` is its file, None without
    one, and ``sha256`` the file's hash.
    """

    operator: str
    category: str
    total: float | None
    recording: Path | None = None
    sha256: str = ""

    @classmethod
    def of(cls, record: Mapping[str, Any], operator: str, category: str, folder: Path) -> RecordedEpisode:
        """Return the episode in an arena's report or an evaluation's record; ``folder`` is the arena's."""
        total = None if record.get("status") == "failed" else float(sum(record["returns"].values()))
        recorded = record.get("recording")
        if recorded is None or total is None:  # recorded episodes may fail too, for a return such as NaN
            return cls(operator, category, total)
        path = folder / OBSERVATIONS / Path(recorded["file"]).name
        return cls(operator, category, total, path, recorded["sha256"])


def write_dataset(
    path: Path | str,
    episodes: Sequence[RecordedEpisode],
    operators: str | Iterable[str] | None,
    facts: Mapping[str, Any],
) -> Path:
    """Write episodes of ``operators`` (None: all) as the Minari dataset ``path``, and return its folder.

    Failed episodes are left out, with a warning. ``facts`` are recorded in the dataset's metadata. A dataset
    of ours at that path is replaced. Raises ConfigurationError if a dataset cannot have this path or the
    episodes were not recorded, WorkerEnvironmentError, and MosaicError if the dataset cannot be written.
    """
    played = _chosen(episodes, operators)
    chosen = [episode for episode in played if episode.recording is not None]
    failed = sum(episode.total is None for episode in played)
    folder = _folder_of(path)
    _check_recorded(len(played), failed, len(chosen))
    environment = workers.ensure("minari")
    names = list(dict.fromkeys(episode.operator for episode in chosen))
    request = {
        "out": str(folder),
        "dataset_id": folder.name,
        "metadata": {
            "algorithm_name": ", ".join(names),
            "description": f"{len(chosen)} episodes of {', '.join(names)}, recorded by MOSAIC Lab",
        },
        "facts": {"version": __version__, "failed_episodes": failed, **facts},
        "episodes": [_table(episode) for episode in chosen],
    }
    try:
        size = sum(episode.recording.stat().st_size for episode in chosen if episode.recording is not None)
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MosaicError(f"the dataset {folder} cannot be written: {error}") from error
    if folder.exists():
        print(f"replacing the dataset {folder}")
    _run([*environment.command(), "--dataset"], request, _SECONDS + size / _BYTES_PER_SECOND)
    return folder


def training_dataset(run: Run, path: Path | str) -> Path:
    """Write the recorded episodes of a training as the Minari dataset ``path``; see `write_dataset`."""
    recordings = run.path / OBSERVATIONS
    name = str(run.config.get("algorithm", run.worker))
    episodes = [
        RecordedEpisode(name, "rl", episode["return"], recordings / episode["file"], episode["sha256"])
        for episode in map(json.loads, JsonlFollower(recordings / EPISODES).lines())
        if math.isfinite(episode["return"])
    ]
    facts = {"run": run.id, "training": {"worker": run.worker, "seed": run.config.get("seed")}}
    return write_dataset(path, episodes, None, facts)


def check_recordable(request: CompareRequest, environment: EnvironmentInfo) -> None:
    """Raise ConfigurationError if observations are to be recorded but cannot be."""
    spaces = {agent: pair.values() for agent, pair in environment.spaces.items()}
    if request.record is not None and (problem := recording_problem(environment.env_id, spaces)):
        raise ConfigurationError(problem)


def warn_of_size(request: CompareRequest, environment: EnvironmentInfo, episodes: int, store: Path) -> None:
    """Warn if the recordings of this many episodes may be large."""
    if request.record is None:
        return
    steps = request.max_steps or _USUAL_STEPS
    (spaces,) = environment.spaces.values()
    size = episodes * steps * sum(map(bytes_of, spaces.values()))
    if size >= _LARGE:
        store = next(folder for folder in (store, *store.parents) if folder.exists())
        free = shutil.disk_usage(store).free
        warn_user(
            f"record={request.record!r}: {episodes:,} episodes of {steps:,} steps have "
            f"{size / 2**30:,.1f} GiB of observations, which are compressed; {free / 2**30:,.1f} GiB are "
            f"free in {store}. max_steps= and fewer seeds record less",
            UserWarning,
        )


def _chosen(
    episodes: Sequence[RecordedEpisode], operators: str | Iterable[str] | None
) -> list[RecordedEpisode]:
    names = list(dict.fromkeys(episode.operator for episode in episodes))
    requested = names if operators is None else [operators] if isinstance(operators, str) else list(operators)
    for name in requested:
        if name not in names:
            listed = ", ".join(map(repr, names)) or "none"
            raise ConfigurationError(
                f"operators: {name!r} has no finished episode; operators with finished episodes: {listed}"
            )
    return [episode for episode in episodes if episode.operator in requested]


def _check_recorded(played: int, failed: int, recorded: int) -> None:
    if not recorded:
        subject = f"none of the {played:,} ended episodes has" if played else "no ended episode has"
        raise ConfigurationError(
            f"{subject} recorded observations: a dataset needs episodes that were played with "
            f'record="{OBSERVATIONS}"'
        )
    if failed:
        are = "is" if failed == 1 else "are"
        warn_user(f"{failed:,} of {played:,} episodes failed and {are} not in the dataset", UserWarning)


def _folder_of(path: Path | str) -> Path:
    """Return the folder of a dataset, named by its Minari id, with a version."""
    target = Path(path).expanduser().resolve()
    name = target.name.removesuffix(".hdf5")
    name = name if re.search(r"-v\d+$", name) else f"{name}-v0"
    folder = target.with_name(name)
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{target.name!r} is not a valid name of a dataset: use letters, digits, - and _, such as "
            "'played-v0'"
        )
    if folder.exists() and not _is_ours(folder):
        raise ConfigurationError(f"{folder} exists and is not a dataset of MOSAIC Lab: give another name")
    return folder


def _is_ours(folder: Path) -> bool:
    try:
        return _OUR_KEY in json.loads((folder / _DATA_FILE).read_bytes())
    except (OSError, ValueError):
        return False


def _table(episode: RecordedEpisode) -> dict[str, Any]:
    metadata = {"operator": episode.operator, "category": episode.category, "return": episode.total}
    return {"file": str(episode.recording), "sha256": episode.sha256, "metadata": metadata}


def _run(command: Sequence[str], request: Mapping[str, Any], seconds: float) -> None:
    with tempfile.TemporaryDirectory(prefix="mosaic-dataset-") as folder:
        log = Path(folder, "log")
        try:
            with log.open("wb") as errors:
                done = subprocess.run(
                    command,
                    input=json.dumps(request).encode(),
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    cwd=folder,
                    env=compose_variables(os.environ),
                    timeout=seconds,
                )
        except subprocess.TimeoutExpired:
            raise MosaicError(
                f"the dataset {request['out']} was not written within {seconds:.0f} s"
            ) from None
        if done.returncode:
            log_text = "\n".join(last_lines(log, _LOG_LINES if done.returncode != 2 else 1))
            raise MosaicError(f"the dataset {request['out']} was not written: {log_text}")
