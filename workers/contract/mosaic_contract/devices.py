"""PyTorch's device: as requested, among the GPUs that this run can see."""

from __future__ import annotations

import logging
import os
from importlib import import_module

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
