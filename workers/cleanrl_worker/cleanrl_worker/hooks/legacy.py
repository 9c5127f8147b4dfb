"""Gymnasium's environments with the old gym's API: four values from `step`, `seed()`, render modes."""

from __future__ import annotations

from typing import Any

import gym
import gymnasium
import numpy as np
from mosaic_contract.fastlane import RENDER_MODE
from mosaic_contract.hyperparameters import env_kwargs_of

from ..environments import FromGym
from .episodes import count, maker, wrapped
from .training import Training


def hook_gym(module: Any, training: Training, *, render: bool) -> None:
    """Make `gym.make` return Gymnasium's environment, or the old gym's if only that has the id."""
    make_old, keywords = module.make, env_kwargs_of(training.settings["description"]["hyperparameters"])

    def make(env_id: str, **kwargs: Any) -> Any:
        if render:
            kwargs.setdefault("render_mode", RENDER_MODE)
        try:
            env = training.frames.make_as(maker(gymnasium.make, training), env_id, **kwargs)
        except gymnasium.error.Error:
            if env_id not in module.envs.registry.env_specs:
                raise
            env = FromGym(make_old(env_id, **keywords))
        return OldGym(wrapped(count(env, training), training))

    module.make = make


class OldGym(gym.Env):
    """A Gymnasium environment with the old API; `done` is `terminated or truncated`, and `info` distinguishes
    them."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.action_space = old_space(env.action_space)
        self.observation_space = old_space(env.observation_space)
        self.reward_range = getattr(env, "reward_range", (-float("inf"), float("inf")))
        self.spec = env.spec
        modes = env.metadata.get("render_modes") or env.metadata.get("render.modes") or []
        rate = env.metadata.get("render_fps") or env.metadata.get("video.frames_per_second") or 30
        self.metadata = {"render.modes": list(modes), "video.frames_per_second": rate}
        self._seed: int | None = None
        self._step = env.step
        self._boxed = isinstance(self.action_space, gym.spaces.Box)

    def step(self, action: Any) -> tuple[Any, Any, bool, dict[str, Any]]:
        if self._boxed:
            action = np.asarray(action, dtype=self.action_space.dtype)
        observation, reward, terminated, truncated, info = self._step(action)
        if truncated and not terminated:
            info["TimeLimit.truncated"] = True
        return observation, reward, terminated or truncated, info

    def reset(self, **kwargs: Any) -> Any:
        if self._seed is not None:
            kwargs["seed"], self._seed = self._seed, None
        return self.env.reset(**kwargs)[0]

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed the next reset, the meaning of `seed` in the old API."""
        self._seed = None if seed is None else int(seed)
        return [] if seed is None else [int(seed)]

    def render(self, mode: str = "human", **kwargs: Any) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()


def old_space(space: Any) -> Any:
    """Return the old gym's space of the same kind, for the kinds supported by the scripts."""
    if isinstance(space, gymnasium.spaces.Box):
        return gym.spaces.Box(space.low, space.high, space.shape, space.dtype)
    if isinstance(space, gymnasium.spaces.Discrete):
        return gym.spaces.Discrete(int(space.n))
    return space
