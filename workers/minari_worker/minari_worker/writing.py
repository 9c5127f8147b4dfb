"""Writing of recorded episodes as a Minari dataset, by Minari itself."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Iterator, Mapping

import minari
from gymnasium.envs.registration import EnvSpec
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_storage import MinariStorage
from mosaic_contract.episode_recording import read_recording, sha256_of
from mosaic_contract.spaces import make_space

_OWN_KEY = "mosaic_lab"
"""The key of the metadata that only MOSAIC Lab has."""
_DATA = "data"


@dataclass(frozen=True)
class DatasetRequest:
    """A dataset to write: the folder `out`, which is replaced if it exists, and its episodes in order.

    Each episode is a table with the `file` of a recording, its `sha256`, and `metadata`, the attributes of
    the episode. `metadata` is the dataset's, beyond its spaces and versions; `facts` are added to the
    environment's id, keyword arguments and versions from the recordings.
    """

    out: str
    dataset_id: str
    metadata: Mapping[str, Any]
    facts: Mapping[str, Any]
    episodes: list[Mapping[str, Any]]


def write_dataset(request: DatasetRequest) -> dict[str, Any]:
    """Write the dataset and return its path and its numbers of episodes and steps. Raises `ValueError` for a
    recording that has changed since it was written, and `OSError`."""
    out = Path(request.out)
    unfinished = out.with_name(f".{out.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    (unfinished / _DATA).mkdir(parents=True)
    try:
        description, _ = _recording(request.episodes[0])
        storage = MinariStorage.new(
            unfinished / _DATA,
            make_space(description["observation_space"]),
            make_space(description["action_space"]),
            _spec_of(description),
            jpeg_encoding=False,  # JPEG is lossy
        )
        storage.update_episodes(_buffers(request.episodes))
        storage.update_episode_metadata(episode["metadata"] for episode in request.episodes)
        recorded = {name: description[name] for name in ("env_id", "env_kwargs", "versions")}
        storage.update_metadata(
            {
                "dataset_id": request.dataset_id,
                "minari_version": minari.__version__,
                "requirements": _requirements(description["versions"]),
                **request.metadata,
                _OWN_KEY: {**recorded, **request.facts},
            }
        )
        totals = {"episodes": storage.total_episodes, "steps": storage.total_steps}
        if out.exists():
            shutil.rmtree(out)
        unfinished.rename(out)
        return {"path": str(out), **totals}
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _buffers(episodes: list[Mapping[str, Any]]) -> Iterator[EpisodeBuffer]:
    for episode in episodes:
        description, columns = _recording(episode)
        yield EpisodeBuffer(
            seed=description["seed"],
            observations=columns["observations"],
            actions=columns["actions"],
            rewards=columns["rewards"],
            terminations=columns["terminated"],
            truncations=columns["truncated"],
            infos={},
        )


def _recording(episode: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    path = Path(episode["file"])
    if sha256_of(path) != episode["sha256"]:
        raise ValueError(f"{path} is damaged: its checksum is not that of the episode's record")
    return read_recording(path)


def _spec_of(description: Mapping[str, Any]) -> EnvSpec | None:
    """Return the environment's specification, from which Minari can recreate it; None if it has none."""
    if description["env_spec"] is None:
        return None
    content = json.loads(description["env_spec"])
    content["kwargs"].pop("render_mode", None)  # of the arena
    names = {field.name for field in fields(EnvSpec)}  # another version of Gymnasium may have more
    return EnvSpec.from_json(json.dumps({name: value for name, value in content.items() if name in names}))


def _requirements(versions: Mapping[str, str]) -> list[str]:
    return [f"{name}=={version}" for name, version in versions.items() if name != "python"]
