"""Checkpoints: everything needed to resume a training and to rebuild its policy, in two files.

`step-N.pt` loads with `torch.load(..., weights_only=True)`: state dicts of all modules and optimizers that
are global variables of the script, other trained tensors, normalization statistics, random states.
`step-N.json` describes it: algorithm, environment, spaces, hyperparameters, preprocessing.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Sequence

import numpy as np
import torch
from mosaic_contract import describe_space
from mosaic_contract.checkpoints import describe_statistics, write_with_description
from mosaic_contract.pytorch import torch_bytes

from .training import Training, global_variables, wrapped_environments, wrappers

_CLIP = 10.0  # bound of a normalized observation in the scripts that normalize
# Running statistics (mean, variance, count), by their names in Gymnasium's wrappers and in the release.
_STATISTICS = {"observation": ("obs_rms", "ob_rms"), "reward": ("return_rms", "ret_rms")}


def save_checkpoint(training: Training) -> tuple[Path, dict[str, float]]:
    """Write both files. Return the path of the first and the current metrics. Raises `OSError`."""
    folder = Path(training.settings["checkpoints_dir"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{training.steps:012d}.pt"
    recent = training.recent_returns
    metrics = {"mean_episode_return": sum(recent) / len(recent)} if recent else {}
    statistics = read_statistics(wrapped_environments())
    description = {
        "file": path.name,
        **training.settings["description"],
        **describe_statistics(),
        "step": training.steps,
        "episodes": training.episodes,
        "metrics": metrics,
        "observation_space": describe_space(training.environments[0].observation_space),
        "action_space": describe_space(training.environments[0].action_space),
        "preprocessing": _preprocessing(training, statistics),
    }
    contents = {
        "step": training.steps,
        "episodes": training.episodes,
        **trained_state(),
        "normalisation": statistics,
        "random": random_state(),
    }
    write_with_description(path, torch_bytes(contents), description)
    return path, metrics


def trained_state() -> dict[str, Any]:
    """Return the trained variables of the script by name."""
    variables = dict(global_variables())
    modules = {name: v for name, v in variables.items() if isinstance(v, torch.nn.Module)}
    optimizers = {name: v for name, v in variables.items() if isinstance(v, torch.optim.Optimizer)}
    return {
        "modules": {name: state for name, v in modules.items() if (state := v.state_dict())},
        "optimizers": {name: v.state_dict() for name, v in optimizers.items()},
        "tensors": {name: v.detach() for name, v in variables.items() if _is_trained(v)},  # SAC's log_alpha
        "variables": {name: v for name, v in variables.items() if name == "alpha" and isinstance(v, float)},
    }


def _is_trained(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad and value.is_leaf


def _preprocessing(training: Training, statistics: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the preprocessing of observations and the scaling of actions."""
    algorithm, legacy = training.settings["description"]["algorithm"], training.settings["legacy"]
    space = training.environments[0].observation_space  # before any wrapper; wrappers make vectors
    is_discrete = type(space).__name__ == "Discrete" and not training.settings["wrappers"]
    continuous_ppo = algorithm in ("ppo_continuous", "rpo")
    mean_and_variance = pooled([s["observation"] for s in statistics if s["observation"] is not None])
    return {
        "flatten": continuous_ppo and not legacy,
        "one_hot": int(space.n) if is_discrete and legacy else None,
        "normalise": mean_and_variance and {**mean_and_variance, "epsilon": 1e-8, "clip": _CLIP},
        "clip_action": continuous_ppo,
    }


def random_state() -> dict[str, Any]:
    """Return the states of the generators of Python, NumPy and PyTorch (CPU)."""
    version, internal, gauss = random.getstate()
    state: Any = np.random.get_state()
    name, keys, *remaining = state
    return {
        "python": [version, list(internal), gauss],
        "numpy": [name, torch.as_tensor(keys.astype(np.int64)), *remaining],
        "torch": torch.get_rng_state(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    name, keys, *remaining = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *remaining))
    torch.set_rng_state(state["torch"])


def read_statistics(environments: Sequence[Any]) -> list[dict[str, Any]]:
    """Return for each environment {"observation", "reward"}, each None or {"mean", "var", "count"} as
    tensors."""
    return [{name: _read(_find(env, names)) for name, names in _STATISTICS.items()} for env in environments]


def write_statistics(environments: Sequence[Any], statistics: Sequence[dict[str, Any]]) -> None:
    """Restore statistics; if there are more environments than before, they are reused from the first."""
    for index, env in enumerate(environments):
        saved = statistics[index % len(statistics)]
        for name, names in _STATISTICS.items():
            moments, values = _find(env, names), saved[name]
            if moments is not None and values is not None:
                moments.mean, moments.var = values["mean"].numpy().copy(), values["var"].numpy().copy()
                moments.count = values["count"]


def pooled(statistics: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Pool the statistics of several environments, weighted by their counts. Returns {"mean": list, "var":
    list, "count": float}; None without statistics."""
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
