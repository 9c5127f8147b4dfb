"""The random generators that the scripts draw from, as plain numbers and tensors."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch


def random_state() -> dict[str, Any]:
    """The states of Python's, NumPy's and PyTorch's (CPU) generators."""
    version, internal, gauss = random.getstate()
    name, keys, *rest = np.random.get_state()
    return {
        "python": [version, list(internal), gauss],
        "numpy": [name, torch.as_tensor(keys.astype(np.int64)), *rest],
        "torch": torch.get_rng_state(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
