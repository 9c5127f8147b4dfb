"""The CPU cores and GPUs of this machine that are available to runs."""

from __future__ import annotations

import math
import os
import re
import subprocess
from collections.abc import Sequence
from typing import Any

from mosaic_lab.errors import ConfigurationError

_CUDA = re.compile(r"(?:cuda|gpu)(?::(\d{1,3}))?")
_DEADLINE = 15.0  # seconds; the first call after a boot loads the driver


def cpu_cores() -> int:
    """Return the number of CPU cores available to this process, which may be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_gpus(gpus: int | Sequence[int]) -> tuple[list[int], int | None]:
    """Return ``(candidates, count)``. A number requests that many free GPUs, a list exactly these (count
    None). Raises ConfigurationError if the machine does not have them."""
    if isinstance(gpus, bool) or (isinstance(gpus, int) and gpus < 0):
        raise ConfigurationError(f"gpus={gpus!r}: must be an integer ≥ 0 or a list of indices")
    if gpus == 0 or (not isinstance(gpus, int) and not gpus):
        return [], 0
    present, seen = _usable_gpus()
    if isinstance(gpus, int):
        if gpus > len(present):
            raise ConfigurationError(f"gpus={gpus}, but {len(present)} are available here: {seen}")
        return present, gpus
    wanted = sorted(set(gpus))
    missing = [index for index in wanted if index not in present]
    if missing:
        raise ConfigurationError(f"gpus={list(gpus)!r}, but GPU {missing[0]} is not available here: {seen}")
    return wanted, None


def check_device(device: Any, needed: Any, gpus: int | Sequence[int]) -> None:
    """Raise ConfigurationError if a training's device is a GPU that its run does not get, or if it needs more
    GPUs. ``needed`` is a number; None: unknown."""
    gpu = _CUDA.fullmatch(device) if isinstance(device, str) else None
    count = gpus if isinstance(gpus, int) else len(set(gpus))
    seen = f"this run gets {count or 'no'} GPU{'s' if count > 1 else ''}"
    if gpu is not None and (index := int(gpu[1] or 0)) >= count:
        raise ConfigurationError(
            f"device={device!r}, and {seen}: give it one (lab.train(..., gpus={index + 1})), or choose "
            "device='auto' or 'cpu'"
        )
    if isinstance(needed, int | float) and needed > count:
        raise ConfigurationError(
            f"its settings need {needed:g} GPU{'s' if needed > 1 else ''}, and {seen}: request them with "
            f"lab.train(..., gpus={math.ceil(needed)}), or change the settings"
        )


def _usable_gpus() -> tuple[list[int], str]:
    """Return nvidia-smi's indices of the GPUs allowed by CUDA_VISIBLE_DEVICES, and an explanation."""
    query = ["nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader"]
    try:
        answer = subprocess.run(
            query, capture_output=True, text=True, timeout=_DEADLINE, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        return [], "nvidia-smi is not on the PATH"
    except subprocess.TimeoutExpired:
        return [], f"nvidia-smi did not answer within {_DEADLINE:g} s"
    if answer.returncode != 0:
        text = (answer.stderr or answer.stdout).strip().splitlines()
        return [], f"nvidia-smi failed: {text[0] if text else f'exit code {answer.returncode}'}"
    rows = [line.split(",") for line in answer.stdout.splitlines() if "," in line]
    uuids = {int(index): uuid.strip() for index, uuid in rows}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return sorted(uuids), f"nvidia-smi lists {len(uuids)}"
    tokens = [token.strip() for token in visible.split(",") if token.strip()]
    named_by = tuple(token for token in tokens if token.startswith("GPU-"))  # CUDA accepts prefixes of UUIDs
    kept = [i for i, uuid in uuids.items() if str(i) in tokens or uuid.startswith(named_by)]
    return sorted(
        kept
    ), f"nvidia-smi lists {len(uuids)}, and CUDA_VISIBLE_DEVICES={visible!r} limits this session"
