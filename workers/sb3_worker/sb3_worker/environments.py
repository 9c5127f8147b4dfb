"""The environments of this worker's algorithms. Does not import torch."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Iterator, Mapping

from mosaic_contract.environment_check import mask_method, probe
from mosaic_contract.environment_spec import EnvironmentSpec
from mosaic_contract.registry import make
from mosaic_contract.space_compatibility import text_of
from mosaic_contract.spaces import describe_space
from mosaic_contract.wrappers import advice

from .algorithms import ALGORITHMS, Sb3Algorithm

MIN_IMAGE = 36
"""Minimum height and width for upstream's convolutions."""

_OBSERVATIONS = ("Box", "Discrete", "MultiDiscrete", "MultiBinary")


@dataclass(frozen=True)
class MaskableSpec(EnvironmentSpec):
    """The spaces of an environment, and whether it provides action masks."""

    masks: bool


def spec_of(env_id: str, keywords: Mapping[str, Any]) -> MaskableSpec:
    """Check an environment and return its spec. Raises `ConfigError`."""
    env, info = probe(env_id, functools.partial(make, env_id, **keywords))
    spec: MaskableSpec = MaskableSpec.of(env_id, env, masks=has_masks(env, info))
    spec.check_alone()
    return spec


def misfits(algorithm: Sb3Algorithm, spec: MaskableSpec) -> Iterator[str]:
    """Yield why the algorithm cannot be used on these spaces, one sentence per reason."""
    if problem := _observation_problem(spec.observation_space):
        has = f"{spec.env_id} has {in_short(spec.observation_space)}"
        hint = advice(spec.observation_space, spec.env_id)
        yield f"Stable-Baselines3 does not support observations {problem}; {has}{hint}"
    if problem := _action_problem(algorithm, spec.action_space):
        yield f"{algorithm.name} {problem}; {spec.env_id} has {in_short(spec.action_space)}"
    elif algorithm.masked and not spec.masks:
        yield (
            f"{algorithm.name} needs action masks; {spec.env_id} has neither a method action_masks() nor an "
            "action_mask in its info: train with ppo"
        )


def is_image(space: Any) -> bool:
    """Return whether upstream treats observations as images: bytes from 0 to 255 in three dimensions."""
    return (
        type(space).__name__ == "Box"
        and len(space.shape) == 3
        and space.dtype == "uint8"
        and bool((space.low == 0).all() and (space.high == 255).all())
    )


def is_small(space: Any) -> bool:
    """Return whether an image is too small for upstream's convolutions."""
    height, width = sorted(space.shape)[-2:]
    return bool(min(height, width) < MIN_IMAGE)


def in_short(space: Any) -> str:
    """Return a short description of a space for errors."""
    return text_of(describe_space(space))


def parts_of(space: Any) -> dict[str, Any]:
    """Return the parts of a Dict; any other space is its own only part, named ""."""
    return dict(space.spaces) if type(space).__name__ == "Dict" else {"": space}


def _observation_problem(space: Any) -> str:
    parts = parts_of(space)
    for key, part in parts.items():
        space_type = type(part).__name__
        if space_type not in _OBSERVATIONS:
            return f"with a {space_type} in them ({key!r})" if key else f"of the kind {space_type}"
        if space_type == "Discrete" and part.start != 0:
            return "that are numbered from elsewhere than 0"
        if space_type == "Box" and not part.shape:
            return "that are single numbers"
    for key, part in parts.items():
        if key and is_image(part) and is_small(part):
            return f"with an image of less than {MIN_IMAGE}×{MIN_IMAGE} pixels beside other parts ({key!r})"
    return ""


def _action_problem(algorithm: Sb3Algorithm, space: Any) -> str:
    space_type = type(space).__name__
    if space_type not in algorithm.actions:
        supporting = [name for name, candidate in ALGORITHMS.items() if space_type in candidate.actions]
        hint = f" (for {space_type}: {', '.join(supporting)})" if supporting else ""
        return f"needs {' or '.join(algorithm.actions)} as actions{hint}"
    if space_type == "MultiDiscrete" and (space.nvec.ndim != 1 or space.start.any()):
        return "needs MultiDiscrete actions of one dimension that are numbered from 0"
    if space_type == "MultiBinary" and len(space.shape) != 1:
        return "needs MultiBinary actions of one dimension"
    if space_type == "Box" and not space.shape:
        return "needs continuous actions of at least one dimension"
    if space_type == "Box" and not (space.is_bounded("both")):
        return "needs finite bounds of continuous actions"
    return ""


def has_masks(env: Any, info: Mapping[str, Any]) -> bool:
    """Return whether an environment provides action masks; `info` is from its reset."""
    return "action_mask" in info or mask_method(env) is not None


def mask_of(env: Any, info: Mapping[str, Any]) -> Any:
    """Return the flat mask of an environment's next action. It must provide masks."""
    method = mask_method(env)
    return flat_mask(info["action_mask"] if method is None else method())


def flat_mask(mask: Any) -> Any:
    """Return a mask as an array (n,) of bool; the masks of a MultiDiscrete's dimensions are concatenated."""
    import numpy as np

    parts = mask if isinstance(mask, (tuple, list)) else [mask]
    return np.concatenate([np.ravel(part) for part in parts]).astype(bool)
