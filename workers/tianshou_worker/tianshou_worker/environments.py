"""The environments of this worker's algorithms. Does not import torch."""

from __future__ import annotations

import functools
from typing import Any, Iterator, Mapping, Sequence

from mosaic_contract.arena import make_gymnasium
from mosaic_contract.environment_check import probe
from mosaic_contract.environment_spec import EnvironmentSpec
from mosaic_contract.gymnasium_wrappers import Wrapper
from mosaic_contract.registry import make

from .algorithms import ALGORITHMS, VALUE, TianshouAlgorithm
from .self_play import is_own_game, make_game, spec_of_game

ATARI_SIDE = 36
"""Minimum side length of images for upstream's convolutions, in pixels."""


def spec_of(env_id: str, keywords: Mapping[str, Any]) -> EnvironmentSpec:
    """Return the spaces of an environment, or of all players of a game. Raises `ConfigError` for a misfit."""
    maker = make_game if is_own_game(env_id) else make
    env, _ = probe(env_id, functools.partial(maker, env_id, **keywords))
    if hasattr(env, "agent_iter"):
        return spec_of_game(env_id, env)
    spec: EnvironmentSpec = EnvironmentSpec.of(env_id, env)
    spec.check_alone()
    return spec


def make_for_arena(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    """Make an environment to act in, a turn-based game or a Gymnasium environment. Raises the errors of
    `make_gymnasium`."""
    if is_own_game(env_id):
        return make_game(env_id, render_mode, **settings)
    return make_gymnasium(env_id, settings, render_mode)


def is_pictures(space: Any) -> bool:
    """Return whether observations are images for upstream's convolutions: bytes, channels first, as made by
    the wrapper "atari"."""
    is_first = _is_image(space) and min(space.shape) == space.shape[0]
    return is_first and space.dtype == "uint8" and not is_small_image(space)


def is_small_image(space: Any) -> bool:
    """Return whether observations are images that are too small for upstream's convolutions, channels last,
    such as MiniGrid's 7×7×3."""
    return _is_image(space) and max(space.shape[:2]) < ATARI_SIDE


def _is_image(space: Any) -> bool:
    return type(space).__name__ == "Box" and len(space.shape) == 3


def misfits(algorithm: TianshouAlgorithm, spec: EnvironmentSpec) -> list[str]:
    """Return why the algorithm cannot be used on these spaces, one sentence per reason."""
    actions_of = {name: candidate.actions for name, candidate in ALGORITHMS.items()}
    space = spec.observation_space
    sees_image = algorithm.sees_pictures and (is_pictures(space) or is_small_image(space))
    convolves = (
        "; [{'resize': [32, 32]}] makes images for its convolutions" if algorithm.sees_pictures else ""
    )
    return [
        *(() if sees_image else spec.observation_problems(algorithm.name, wraps=True, convolves=convolves)),
        *spec.action_problems(algorithm.name, actions_of, bounded=True),
    ]


def game_problems(algorithm: TianshouAlgorithm, wrappers: Sequence[Wrapper]) -> Iterator[str]:
    """Yield why the algorithm cannot learn a turn-based game by self-play, one sentence per reason."""
    if algorithm.family != VALUE:
        masking = ", ".join(name for name, candidate in ALGORITHMS.items() if candidate.family == VALUE)
        yield f"{algorithm.name} cannot mask illegal moves; for turn-based games train {masking}"
    if wrappers:
        yield f"wrappers={list(wrappers)}: a turn-based game is observed as a vector already; leave them out"
