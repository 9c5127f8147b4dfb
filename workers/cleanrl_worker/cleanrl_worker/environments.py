"""The environments of this worker's scripts and operators. Does not import torch."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from mosaic_contract import ConfigError, registry
from mosaic_contract.environment_check import probe, unmakeable
from mosaic_contract.environment_spec import EnvironmentSpec
from mosaic_contract.errors import one_line
from mosaic_contract.fastlane import RENDER_MODE
from mosaic_contract.gymnasium_wrappers import Wrapper

from .algorithms import ALGORITHMS, ScriptAlgorithm
from .upstream import installed

_CONVOLVES = "; for convolutional networks train ppo of sb3, xuance or rllib"


@dataclass(frozen=True)
class RenderableSpec(EnvironmentSpec):
    """An environment's spaces and rendering. `old`: from the old gym rather than Gymnasium."""

    render_modes: tuple[str, ...]
    old: bool


def spec_of(
    env_id: str, wrappers: Sequence[Wrapper], keywords: Mapping[str, Any], *, legacy: bool, render: bool
) -> RenderableSpec:
    """Check an environment and return its spec. With `render`, also render one frame of it.

    With a legacy upstream, an id that Gymnasium cannot make is looked up in the old gym, which has pybullet's
    environments. Raises `ConfigError` for an environment that cannot be made here, and for `wrappers` on an
    environment of the old gym.
    """
    env, _ = probe(env_id, functools.partial(_make_either, env_id, keywords, legacy))
    modes = env.metadata.get("render_modes") or env.metadata.get("render.modes") or ()
    is_old = isinstance(env, FromGym)
    if is_old and wrappers:
        raise ConfigError(f"wrappers need a Gymnasium environment; {env_id} is one of the old gym's")
    spec: RenderableSpec = RenderableSpec.of(env_id, env, render_modes=tuple(modes), old=is_old)
    spec.check_alone()
    if render:
        _draw(spec, keywords)
    return spec


def _make_either(env_id: str, keywords: Mapping[str, Any], legacy: bool) -> Any:
    try:
        return registry.make(env_id, **keywords)
    except Exception:  # environments raise arbitrary exceptions
        old = _make_old(env_id, keywords) if legacy else None
        if old is None:
            raise
        return FromGym(old)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    """Make an environment to act in, with Gymnasium's API: Gymnasium's environment with that id, else the old
    gym's if upstream was written for it.

    Raises `ConfigError` for an id that neither has and for unsupported settings, else the environment's own
    errors.
    """
    import gymnasium
    from mosaic_contract.arena import check_gymnasium_settings  # trainings do not need this

    registry.register(env_id)
    check_gymnasium_settings(env_id, settings)
    try:
        return registry.make(env_id, render_mode, **settings)
    except (gymnasium.error.UnregisteredEnv, gymnasium.error.DeprecatedEnv) as error:
        upstream = installed()
        old = _make_old(env_id, settings) if upstream is not None and upstream.legacy else None
        if old is None:
            raise unmakeable(env_id, error) from None
        return FromGym(old)


def _make_old(env_id: str, settings: Mapping[str, Any]) -> Any:
    """Return the old gym's environment with that id, None if it has none either."""
    import gym
    import pybullet_envs  # noqa: F401  (registers its environments)

    if env_id not in gym.envs.registry.env_specs:
        return None
    try:
        return gym.make(env_id, **settings)
    except Exception as error:
        raise unmakeable(env_id, error) from None


def _draw(spec: RenderableSpec, keywords: Mapping[str, Any]) -> None:
    if RENDER_MODE not in spec.render_modes:
        modes = ", ".join(spec.render_modes) or "nothing"
        raise ConfigError(f"capture_video needs {RENDER_MODE} frames, and {spec.env_id} renders {modes}")
    if spec.old:
        return  # the old gym renders on demand and has no render mode
    try:
        env = registry.make(spec.env_id, **{**keywords, "render_mode": RENDER_MODE})
        env.reset()
        env.render()
        env.close()
    except Exception as error:
        raise ConfigError(
            f"capture_video: {spec.env_id} cannot be rendered here: {one_line(error)}"
        ) from None


def misfits(
    algorithm: ScriptAlgorithm, environment: RenderableSpec, *, legacy: bool, available: Sequence[str]
) -> list[str]:
    """Return why the algorithm's script cannot be used on this environment, one sentence per reason.
    `available` are the algorithms that may be recommended instead."""
    actions_of = {name: [ALGORITHMS[name].action] for name in available}
    problems = [*environment.action_problems(algorithm.name, actions_of, bounded=not algorithm.on_policy)]
    if not algorithm.games and not _encodes(algorithm, environment.observation_space, legacy):
        problems += environment.observation_problems(algorithm.name, wraps=True, convolves=_CONVOLVES)
    return problems


def _encodes(algorithm: ScriptAlgorithm, space: Any, legacy: bool) -> bool:
    """Return whether the script converts observations that are not vectors to vectors."""
    if legacy:
        return algorithm.name in ("dqn", "c51") and type(space).__name__ == "Discrete"
    return algorithm.name in ("ppo_continuous", "rpo") and getattr(space, "is_np_flattenable", False)


class FromGym:
    """An environment of the old gym with Gymnasium's API, so that all other code needs only one API."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.action_space, self.observation_space = env.action_space, env.observation_space
        self.metadata, self.spec = env.metadata, env.spec
        self.unwrapped = env.unwrapped

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, done, info = self.env.step(action)
        truncated = bool(info.pop("TimeLimit.truncated", False))
        return observation, reward, bool(done) and not truncated, truncated, info

    def reset(self, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.env.seed(seed)
        return self.env.reset(), {}

    def render(self) -> Any:
        return self.env.render(mode=RENDER_MODE)

    def close(self) -> None:
        self.env.close()
