"""The environments that trainings use: made once to check a configuration. No Ray and no torch here."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.environment_spec import EnvironmentSpec
from mosaic_contract.errors import one_line
from mosaic_contract.pettingzoo_ids import parallel_module

from .algorithms import ALGORITHMS, Algorithm
from .environment_maker import make_environment


def make(env_id: str, keywords: Mapping[str, Any], render_mode: str | None = None) -> Any:
    """Make an environment of Gymnasium, or a parallel one of PettingZoo.

    Raises `ConfigError` for one that is played in turns, and whatever the environment's own code raises.
    """
    module = parallel_module(env_id)
    return make_environment(module and module.__name__, env_id, keywords, render_mode)


def probe(env_id: str, keywords: Mapping[str, Any]) -> EnvironmentSpec:
    """Make an environment once and return its spaces. Raises `ConfigError` for one that is unknown, played in
    turns, or cannot be made with these keywords.
    """
    try:
        env = make(env_id, keywords)
    except ConfigError:
        raise
    except Exception as error:  # whatever an environment's own code raises
        given = f" with env_config={dict(keywords)}" if keywords else ""
        raise ConfigError(f"environment {env_id!r} cannot be made here{given}: {one_line(error)}") from None
    try:
        spec: EnvironmentSpec = EnvironmentSpec.of(env_id, env)
        return spec
    finally:
        env.close()


def misfits(algorithm: Algorithm, spec: EnvironmentSpec) -> Iterator[str]:
    """Yield why the algorithm cannot be used on this environment, one sentence a reason."""
    yield from spec.observation_problems(algorithm.name)
    kinds = {name: one.actions for name, one in ALGORITHMS.items()}
    yield from spec.action_problems(algorithm.name, kinds)
