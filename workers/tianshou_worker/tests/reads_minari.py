"""Run by the worker's interpreter: read small Minari datasets, made in the folder of the argument.

Prints one JSON object: the transitions of two episodes, with scaled actions and through wrappers, and the
errors for datasets that cannot be learned from.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import h5py
import numpy as np
from gymnasium import spaces
from mosaic_contract import ConfigError
from mosaic_contract.environment_spec import EnvironmentSpec
from tianshou_worker.datasets import read_dataset

FOLDER = Path(sys.argv[1])
LENGTHS = (3, 2)


class Kitchen(gymnasium.Env):  # type: ignore[misc]
    observation_space = spaces.Dict({"heat": spaces.Box(0, 1, (2,)), "pan": spaces.Discrete(3)})
    action_space = spaces.Discrete(4, start=5)


def made(name: str, env_id: str, observations: Any, actions: Any, **changes: Any) -> Path:
    """Write a dataset in Minari's format; functions return an episode's arrays for its number of rows."""
    folder = FOLDER / name / "data"
    folder.mkdir(parents=True)
    metadata = {"data_format": "hdf5", "jpeg_encoding": False, "env_spec": json.dumps({"id": env_id})}
    (folder / "metadata.json").write_text(json.dumps({**metadata, **changes}))
    with h5py.File(folder / "main_data.hdf5", "w") as file:
        for number, length in enumerate(LENGTHS):
            group = file.create_group(f"episode_{number}")
            seen = observations(length + 1)
            for key, value in (seen if isinstance(seen, dict) else {"": seen}).items():
                group[f"observations/{key}".rstrip("/")] = value
            group["actions"], group["rewards"] = actions(length), np.arange(length, dtype=float)
            group["terminations"] = np.arange(length) == length - 1 if number else np.zeros(length, bool)
            group["truncations"] = np.zeros(length, bool)
            group.create_group("infos")
    return folder.parent


def read(path: Path, env: Any, env_id: str, wrappers: Sequence[str] = ()) -> Any:
    own = EnvironmentSpec.of(env_id, env)
    try:
        dataset = read_dataset(path, own, own.wrapped(wrappers), wrappers)
    except ConfigError as error:
        return str(error)
    return {key: array.tolist() for key, array in dataset.items()}


def thirds(rows: int) -> Any:
    return np.repeat(np.arange(rows, dtype=np.float32)[:, None], 3, 1)


def halves(rows: int) -> Any:
    return np.full((rows, 1), -1.0, np.float32)


pendulum = gymnasium.make("Pendulum-v1")
plain = made("plain-v0", "Pendulum-v1", thirds, halves)
kitchen = made(
    "kitchen-v0",
    "Kitchen-v0",
    lambda rows: {"heat": np.ones((rows, 2), np.float32), "pan": np.arange(rows) % 3},
    lambda rows: np.full(rows, 6),
)
picture = json.dumps({"type": "Box", "dtype": "uint8", "shape": [8, 8, 3]})
swapped = made("swapped-v0", "Pendulum-v1", lambda rows: thirds(rows + 1), halves)
cut = made("cut-v0", "Pendulum-v1", thirds, halves)
main_data = cut / "data" / "main_data.hdf5"
main_data.write_bytes(main_data.read_bytes()[:200])
print(
    json.dumps(
        {
            "plain": read(plain, pendulum, "Pendulum-v1"),
            "file": read(plain / "data" / "main_data.hdf5", pendulum, "Pendulum-v1")
            == read(plain, pendulum, "Pendulum-v1"),
            "kitchen": read(kitchen, Kitchen(), "Kitchen-v0", ["flat"]),
            "unwrapped": read(kitchen, Kitchen(), "Kitchen-v0"),
            "other": read(plain, Kitchen(), "Kitchen-v0", ["flat"]),
            "stacked": read(plain, pendulum, "Pendulum-v1", [{"frame_stack": 2}, "flat"]),  # type: ignore[list-item]
            "jpeg": read(
                made("jpeg-v0", "Pendulum-v1", thirds, halves, jpeg_encoding=True, observation_space=picture),
                pendulum,
                "Pendulum-v1",
            ),
            "arrow": read(
                made("arrow-v0", "Pendulum-v1", thirds, halves, data_format="arrow"), pendulum, "Pendulum-v1"
            ),
            "swapped": read(swapped, pendulum, "Pendulum-v1"),
            "cut": read(cut, pendulum, "Pendulum-v1"),
        }
    )
)
