"""Environments as this worker's algorithms take them. No Ray and no torch here."""

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


@dataclass(frozen=True)
class RllibEnvironmentSpec(EnvironmentSpec):
    """The spaces of a training. `games`: the observation spaces of a turn-based game, by agent."""

    games: Mapping[str, Any] = field(default_factory=dict)

    def describe_spaces(self) -> dict[str, Any]:
        """Return the spaces as an arena has them."""
        if not self.games:
            return super().describe_spaces()
        return EnvironmentSpec(self.env_id, self.games, self.actions, self.several).describe_spaces()


def make(env_id: str, keywords: Mapping[str, Any], render_mode: str | None = None) -> Any:
    """Make an environment of Gymnasium, or a parallel one of PettingZoo, to act in.

    Raises `ConfigError` for one that is played in turns, and whatever the environment's own code raises.
    """
    module = parallel_module(env_id)
    if module is None:
        register(env_id)
    return make_environment(module and module.__name__, env_id, keywords, render_mode)


def spec_of(env_id: str, keywords: Mapping[str, Any]) -> RllibEnvironmentSpec:
    """Check an environment and return its spaces. Raises `ConfigError`, also for one that cannot be made with
    these keywords, or is a game in turns that is not of two.
    """
    if (module := pettingzoo_module(env_id)) is None:
        register(env_id)
    try:
        env, _ = probe(env_id, functools.partial(make_environment, module, env_id, keywords))
    except ConfigError as error:
        given = (
            f" cannot be made here with env_config={dict(keywords)}" if keywords else " cannot be made here"
        )
        raise ConfigError(str(error).replace(" cannot be made here", given, 1)) from None
    games = (
        {agent: env.game_space(agent) for agent in env.possible_agents} if isinstance(env, TurnGame) else {}
    )
    spec: RllibEnvironmentSpec = RllibEnvironmentSpec.of(env_id, env, games=games)
    return spec


def is_pictures(spec: EnvironmentSpec) -> bool:
    """Return whether the only agent sees pictures as upstream's own convolutions take them: 84×84, channels
    last.
    """
    return not spec.several and (spec.observation_space.shape or ())[:2] == (84, 84)


def misfits(algorithm: RllibAlgorithm, spec: RllibEnvironmentSpec) -> Iterator[str]:
    """Yield why the algorithm cannot be used on this environment, one sentence a reason."""
    if spec.games and not algorithm.on_policy:
        masking = ", ".join(name for name, one in ALGORITHMS.items() if one.on_policy)
        yield f"{algorithm.name} cannot be kept from illegal moves; on games in turns train {masking}"
    if not (algorithm.sees_pictures and is_pictures(spec)):
        yield from spec.observation_problems(algorithm.name, wraps=True)
    kinds = {name: one.actions for name, one in ALGORITHMS.items()}
    yield from spec.action_problems(algorithm.name, kinds)
