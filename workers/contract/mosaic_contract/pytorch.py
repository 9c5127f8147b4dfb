"""PyTorch for shims: its device, among the GPUs that a run can see, and its states as bytes and back, without
running anything of a file."""

from __future__ import annotations

import io
import logging
import os
import pickle
from importlib import import_module
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract.checkpoints import loading
from mosaic_contract.errors import ConfigError

log = logging.getLogger(__name__)


def torch_device(requested: str) -> str:
    """Return PyTorch's name of the requested device: "cpu", "cuda", "cuda:0", or "auto", which is a GPU if
    one is visible, else the CPU. Raises `ConfigError` for a GPU where none is visible. Imports torch.
    """
    torch = import_module("torch")
    if torch.cuda.is_available() or requested == "cpu":
        return "cuda" if requested == "auto" else requested
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    seen = "no GPU is visible to this run"
    if given:
        seen = f"PyTorch {torch.__version__} finds none of this run's GPUs (CUDA_VISIBLE_DEVICES={given})"
    if requested != "auto":
        raise ConfigError(
            f"device={requested!r}, and {seen}: give it one (lab.train(..., gpus=1)), or choose "
            "device='auto' or 'cpu'"
        )
    if given:
        log.warning("%s: it trains on the CPU", seen)
    return "cpu"


def torch_bytes(state: Any) -> bytes:
    """Return the file of a state, as `torch.save` writes it."""
    file = io.BytesIO()
    import_module("torch").save(state, file)
    return file.getvalue()


def load_torch(path: Path, part: str) -> dict[str, Any]:
    """Return the state in a file, on the CPU. Weights only are loaded: code in the file is not run.

    Raises `ConfigError` for a file that cannot be read, or whose state has no dictionary `part`.
    """
    with loading(path):
        try:
            state = import_module("torch").load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError:  # whose text recommends to run the code in the file
            raise ValueError(
                "it has more than weights, and is not unpickled: that can run any code"
            ) from None
        if not isinstance(state, dict) or not isinstance(state.get(part), dict):
            raise ValueError(f"it has no {part!r}")
    return dict(state)


def load_optimizer(optimizer: Any, state: Mapping[str, Any]) -> None:
    """Put a saved state into an optimiser that keeps what it was made with, its learning rate for one: a
    resumed training may have changed that. What a schedule has done to the rate by then is done to the new
    one, too. Raises `ValueError` where the state is of other parameters.
    """
    own = optimizer.state_dict()["param_groups"]
    for group, saved in zip(own, state["param_groups"]):
        if (first := saved.get("initial_lr")) is not None:
            same = group["lr"] == first
            group["lr"] = saved["lr"] if same else group["lr"] * saved["lr"] / first
    if len(own) == len(state["param_groups"]):
        state = {**state, "param_groups": own}
    optimizer.load_state_dict(state)
