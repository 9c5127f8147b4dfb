"""Read the state of PyTorch optimizers from a checkpoint without PyTorch."""

from __future__ import annotations

import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any


class _Numbers(pickle.Unpickler):
    """Unpickler for files of `torch.save`; tensors become None."""

    def find_class(self, module: str, name: str) -> Any:
        return OrderedDict if name == "OrderedDict" else lambda *_: None

    def persistent_load(self, pid: Any) -> None:
        return None


def learning_rates(checkpoint: Path) -> list[float]:
    """Return the learning rates of all optimizers in a checkpoint."""
    with zipfile.ZipFile(checkpoint) as saved:
        (state,) = (name for name in saved.namelist() if name.endswith("/data.pkl"))
        with saved.open(state) as file:
            return _rates(_Numbers(file).load())


def _rates(state: Any) -> list[float]:
    if isinstance(state, dict) and "param_groups" in state:
        return [group["lr"] for group in state["param_groups"]]
    parts = state.values() if isinstance(state, dict) else state if isinstance(state, (list, tuple)) else ()
    return [rate for part in parts for rate in _rates(part)]
