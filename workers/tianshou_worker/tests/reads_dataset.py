"""Run by the worker's interpreter: read a dataset as the worker and as upstream's own loader do.

Prints one JSON object: whether both give the same transitions in the same order, whether the training buffer
has upstream's episode ends and uses the arrays as read, without copies, and the errors for invalid files,
which are written to the folder of the second argument.
"""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import h5py
import numpy as np
from mosaic_contract import ConfigError
from mosaic_contract.environment_spec import EnvironmentSpec
from tianshou.data import VectorReplayBuffer
from tianshou_worker.datasets import read_dataset
from tianshou_worker.runtime import buffer_of

ENV = "Pendulum-v1"
DATASET, FOLDER = Path(sys.argv[1]), Path(sys.argv[2])
made = gymnasium.make(ENV)


def read(path: Path) -> Any:
    spec = EnvironmentSpec.of(ENV, made)
    return read_dataset(path, spec, spec, ())


def refusal(name: str, change: Callable[[h5py.File], Any] | None = None, keep: int | None = None) -> str:
    """Return the error for a changed or truncated copy of the dataset, without its description."""
    path = FOLDER / f"{name}.hdf5"
    shutil.copy(DATASET, path)
    if keep is not None:
        path.write_bytes(path.read_bytes()[:keep])
    if change is not None:
        with h5py.File(path, "r+") as file:
            change(file)
    try:
        read(path)
    except ConfigError as error:
        return str(error)
    return "read"


def replace(file: h5py.File, key: str, array: Any) -> None:
    del file[key]
    file[key] = array


def declare(file: h5py.File, key: str, count: int) -> None:
    """Declare an array of `count` numbers, none of which is in the file."""
    del file[key]
    file.create_dataset(key, (count,), "i8", chunks=(1024,))


class Bomb:
    """Creates a file when unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (FOLDER / "executed",)


upstream, dataset = VectorReplayBuffer.load_hdf5(str(DATASET)), read(DATASET)
order = upstream.sample_indices(0)
buffer = buffer_of(dataset, seed=1)
everything, _ = buffer.sample(0)
pickled = np.frombuffer(pickle.dumps(Bomb()), dtype=np.byte)
rows = len(upstream.obs)
print(
    json.dumps(
        {
            "same": all(
                np.array_equal(everything[key], upstream[order][key]) for key in ("obs", "act", "rew")
            ),
            "ends": int(everything.done.sum()) - int(upstream[order].done.sum()),
            "next": int(buffer.next(0)),
            "once": all(
                array is getattr(buffer, key) is read(DATASET)[key] for key, array in dataset.items()
            ),
            "cut": refusal("cut", keep=2000),
            "text": refusal("text", lambda file: replace(file, "_meta/rew", [b"much"] * rows)),
            "bomb": refusal("bomb", lambda file: replace(file, "buffers", pickled)),
            "none": refusal("none", lambda file: file.__delitem__("_meta")),
            "wide": refusal("wide", lambda file: replace(file, "_meta/act", np.full((rows, 1), 2.0))),
            "other": refusal("other", lambda file: replace(file, "_meta/obs", np.zeros((rows, 4)))),
            "many": refusal("many", lambda file: declare(file, "_lengths", 2**40)),
            "long": refusal("long", lambda file: replace(file, "_lengths", [10**12, 0, 0, 0])),
        }
    )
)
