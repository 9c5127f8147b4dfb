"""Environments that draw random numbers while they are made, which no seed of a reset governs."""

from __future__ import annotations

from typing import Any, Callable

import gymnasium
import numpy


class MadeAtReset(gymnasium.Env[Any, Any]):
    """Wraps an environment that `make` makes again for every episode, from the episode's seed.

    While it is made, upstream takes NumPy's shared generator.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._take(make())

    @property
    def unwrapped(self) -> Any:
        return self._env.unwrapped

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            numpy.random.seed(seed)
        self._env.close()
        self._take(self._make())
        return self._env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        return self._env.step(action)

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()

    def _take(self, env: Any) -> None:
        self._env = env
        self.spec, self.metadata = env.spec, env.metadata
        self.observation_space, self.action_space = env.observation_space, env.action_space
