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


def choose_gpus(gpus: int | Sequence[int]) -> tuple[dict[int, str], int | None]:
    """Return ``(candidates, count)``; candidates are indices with the names of the GPUs, such as "NVIDIA H100
    80GB HBM3, 81559 MiB". A number requests that many free GPUs, a list exactly these (count None). Raises
    ConfigurationError if the machine does not have them."""
    if isinstance(gpus, bool) or (isinstance(gpus, int) and gpus < 0):
        raise ConfigurationError(f"gpus={gpus!r}: must be an integer ≥ 0 or a list of indices")
    if gpus == 0 or (not isinstance(gpus, int) and not gpus):
        return {}, 0
    present, seen = _usable_gpus()
    if isinstance(gpus, int):
        if gpus > len(present):
            raise ConfigurationError(f"gpus={gpus}, but {len(present)} are available here: {seen}")
        return present, gpus
    requested = sorted(set(gpus))
    missing = [index for index in requested if index not in present]
    if missing:
        raise ConfigurationError(f"gpus={list(gpus)!r}, but GPU {missing[0]} is not available here: {seen}")
    return {index: present[index] for index in requested}, None


def check_device(device: Any, needed: Any, gpus: int | Sequence[int]) -> None:
    """Raise ConfigurationError if a training's device is a GPU that its run does not get, or if it needs more
    GPUs. ``needed`` is their number, None if unknown."""
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


def _usable_gpus() -> tuple[dict[int, str], str]:
    """Return indices and names of the GPUs allowed by CUDA_VISIBLE_DEVICES, and an explanation."""
    query = ["nvidia-smi", "--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader"]
    try:
        answer = subprocess.run(
            query, capture_output=True, text=True, timeout=_DEADLINE, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        return {}, "nvidia-smi is not on the PATH"
    except subprocess.TimeoutExpired:
        return {}, f"nvidia-smi did not answer within {_DEADLINE:g} s"
    if answer.returncode != 0:
        text = (answer.stderr or answer.stdout).strip().splitlines()
        return {}, f"nvidia-smi failed: {text[0] if text else f'exit code {answer.returncode}'}"
    rows = [line.split(", ", 2) for line in answer.stdout.splitlines() if line.count(", ") >= 2]
    names = dict(sorted((int(index), name) for index, _, name in rows))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return names, f"nvidia-smi lists {len(names)}"
    tokens = [token.strip() for token in visible.split(",") if token.strip()]
    named_by = tuple(token for token in tokens if token.startswith("GPU-"))  # CUDA accepts prefixes of UUIDs
    visible_indices = {int(index) for index, uuid, _ in rows if index in tokens or uuid.startswith(named_by)}
    seen = f"nvidia-smi lists {len(names)}, and CUDA_VISIBLE_DEVICES={visible!r} limits this session"
    return {index: name for index, name in names.items() if index in visible_indices}, seen
