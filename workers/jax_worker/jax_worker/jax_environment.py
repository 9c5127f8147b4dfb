"""JAX environments with Gymnasium's interface: compiled, and seeded by the reset."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import jax
import numpy

_SEED_LIMIT = 1 << 32


def cache_folder(name: str) -> Path:
    """Return a folder of the user's cache."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "mosaic-lab" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


jax.config.update("jax_compilation_cache_dir", str(cache_folder("jax")))


class JaxEnvironment(gymnasium.Env[Any, Any]):
    """The base class of both families. Compiled functions are kept in the user's cache: Craftax compiles for
    minutes, but only once. `state` is upstream's state, after a reset."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    def __init__(self, env_id: str, env: Any, params: Any, render_mode: str | None) -> None:
        self.env_id, self.render_mode = env_id, render_mode
        self.inner, self.params = env, params
        self.state: Any = None
        self._key = jax.random.PRNGKey(0)
        self._reset, self._step = jax.jit(env.reset_env), jax.jit(self._transition)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._key = jax.random.PRNGKey(seed % _SEED_LIMIT)
        observation, self.state = self._reset(self._next_key(), self.params)
        return self.observed(observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        key = self._next_key()
        observation, self.state, reward, terminated, late, info = self._step(key, self.state, action)
        ended = bool(terminated) or bool(late)
        final_info = {name: float(value) for name, value in info.items()} if ended else {}
        return self.observed(observation), float(reward), ended and not late, bool(late), final_info

    def observed(self, observation: Any) -> Any:
        """Return an observation as NumPy arrays."""
        return numpy.array(observation)

    def late(self, state: Any, done: Any) -> Any:
        """Return whether a state is final only because of the time limit; compiled."""
        raise NotImplementedError

    def _transition(self, key: Any, state: Any, action: Any) -> Any:
        observation, state, reward, terminated, info = self.inner.step_env(key, state, action, self.params)
        return observation, state, reward, terminated, self.late(state, terminated), info

    def _next_key(self) -> Any:
        self._key, key = jax.random.split(self._key)
        return key
