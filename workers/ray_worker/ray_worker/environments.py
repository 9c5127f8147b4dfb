"""The environments of this worker's algorithms. Does not import Ray or torch."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.environment_check import probe
from mosaic_contract.environment_spec import EnvironmentSpec
from mosaic_contract.pettingzoo_ids import parallel_module, pettingzoo_module
from mosaic_contract.registry import register

from .algorithms import ALGORITHMS, RllibAlgorithm
from .environment_maker import make_environment
from .turns import TurnGame

UPSTREAM_SIDES = (42, 64, 84, 96)
"""The sides of images, in pixels, that upstream has convolutions for. Smaller ones have `SMALL_FILTERS`."""
SMALL_FILTERS = [[32, 3, 1], [64, 3, 1]]


@dataclass(frozen=True)
class RllibEnvironmentSpec(EnvironmentSpec):
    """The spaces of a training. `games`: the observation spaces of a turn-based game, by agent."""

    games: Mapping[str, Any] = field(default_factory=dict)

    def describe_spaces(self) -> dict[str, Any]:
        """Return the spaces in the form of arenas."""
        if not self.games:
            return super().describe_spaces()
        return EnvironmentSpec(self.env_id, self.games, self.actions, self.several).describe_spaces()


def make(env_id: str, keywords: Mapping[str, Any], render_mode: str | None = None) -> Any:
    """Make a Gymnasium or parallel PettingZoo environment to act in. Raises `ConfigError` for a turn-based
    environment, and the environment's own errors."""
    module = parallel_module(env_id)
    if module is None:
        register(env_id)
    return make_environment(module and module.__name__, env_id, keywords, render_mode)


def spec_of(env_id: str, keywords: Mapping[str, Any]) -> RllibEnvironmentSpec:
    """Check an environment and return its spaces. Raises `ConfigError`, also if it cannot be made with these
    keywords, or is a turn-based game without boards."""
    if (module := pettingzoo_module(env_id)) is None:
        register(env_id)
    try:
        env, _ = probe(env_id, functools.partial(make_environment, module, env_id, keywords))
    except ConfigError as error:
        failure = (
            f" cannot be made here with env_kwargs={dict(keywords)}" if keywords else " cannot be made here"
        )
        raise type(error)(str(error).replace(" cannot be made here", failure, 1)) from None
    games = (
        {agent: env.game_space(agent) for agent in env.possible_agents} if isinstance(env, TurnGame) else {}
    )
    spec: RllibEnvironmentSpec = RllibEnvironmentSpec.of(env_id, env, games=games)
    return spec


def default_filters(spec: EnvironmentSpec) -> list[list[int]] | None:
    """Return the convolutions for images that are too small for upstream's own, such as MiniGrid's 7×7×3;
    None for other observations."""
    shape = next(iter(spec.observations.values())).shape
    return SMALL_FILTERS if is_images(spec) and max(shape[:2]) < min(UPSTREAM_SIDES) else None


def is_images(spec: EnvironmentSpec) -> bool:
    """Return whether the observations of all agents are images of one shape, channels last."""
    shapes = {space.shape for space in spec.observations.values()}
    return len(shapes) == 1 and len(shapes.pop() or ()) == 3


def misfits(algorithm: RllibAlgorithm, spec: RllibEnvironmentSpec, *, filters: bool) -> Iterator[str]:
    """Yield why the algorithm cannot be used on this environment, one sentence per reason. ``filters``: its
    convolutions are given."""
    if spec.games and not algorithm.on_policy:
        masking = ", ".join(name for name, candidate in ALGORITHMS.items() if candidate.on_policy)
        yield f"{algorithm.name} cannot mask illegal moves; for turn-based games train {masking}"
    if algorithm.sees_pictures and is_images(spec):
        height, width, _ = shape = next(iter(spec.observations.values())).shape
        has_filters = height == width in UPSTREAM_SIDES or default_filters(spec)
        if not (filters or has_filters):
            sides = ", ".join(map(str, UPSTREAM_SIDES))
            yield (
                f"{spec.env_id} has images of {'×'.join(map(str, shape))}, and RLlib has convolutions for "
                f"sides of {sides} only: give conv_filters, such as "
                "[[16, 8, 4], [32, 4, 2]] (channels, kernel, stride), or wrappers=[{'resize': [84, 84]}]"
            )
    else:
        convolved = ", ".join(name for name, candidate in ALGORITHMS.items() if candidate.sees_pictures)
        convolves = f"; for convolutional networks train {convolved}"
        yield from spec.observation_problems(algorithm.name, wraps=True, convolves=convolves)
    actions_of = {name: candidate.actions for name, candidate in ALGORITHMS.items()}
    yield from spec.action_problems(algorithm.name, actions_of)
