"""The running statistics that observations and rewards are normalised by: read from the wrappers, put back.

Gymnasium's wrappers and the release's own have the same three numbers (mean, variance, count) under other
names.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from .script import wrappers

_NAMES = {"observation": ("obs_rms", "ob_rms"), "reward": ("return_rms", "ret_rms")}


def read_statistics(environments: Sequence[Any]) -> list[dict[str, Any]]:
    """For each environment {"observation", "reward"}, each None or {"mean", "var", "count"} as tensors."""
    return [{kind: _read(_find(env, names)) for kind, names in _NAMES.items()} for env in environments]


def write_statistics(environments: Sequence[Any], statistics: Sequence[dict[str, Any]]) -> None:
    """Put statistics back; with more environments than there were, they are used again from the first."""
    for index, env in enumerate(environments):
        saved = statistics[index % len(statistics)]
        for kind, names in _NAMES.items():
            found, values = _find(env, names), saved[kind]
            if found is not None and values is not None:
                found.mean, found.var = values["mean"].numpy().copy(), values["var"].numpy().copy()
                found.count = values["count"]


def pooled(statistics: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Pool the statistics of several environments, weighted by their counts.

    Returns {"mean": list, "var": list, "count": float}; None without statistics.
    """
    if not statistics:
        return None
    counts = np.array([s["count"] for s in statistics])
    weights = (counts / counts.sum()).reshape((-1,) + (1,) * statistics[0]["mean"].dim())
    means = np.stack([s["mean"].numpy() for s in statistics])
    variances = np.stack([s["var"].numpy() for s in statistics])
    mean = (weights * means).sum(0)
    variance = (weights * (variances + (means - mean) ** 2)).sum(0)
    return {"mean": mean.tolist(), "var": variance.tolist(), "count": float(counts.sum())}


def _find(env: Any, names: Sequence[str]) -> Any:
    for wrapper in wrappers(env):
        for name in names:
            if vars(wrapper).get(name) is not None:
                return vars(wrapper)[name]
    return None


def _read(statistics: Any) -> dict[str, Any] | None:
    if statistics is None:
        return None
    return {
        "mean": torch.as_tensor(np.array(statistics.mean, dtype=np.float64)),
        "var": torch.as_tensor(np.array(statistics.var, dtype=np.float64)),
        "count": float(statistics.count),
    }
