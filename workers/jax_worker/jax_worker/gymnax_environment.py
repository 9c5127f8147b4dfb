"""gymnax's environments."""

from __future__ import annotations

from typing import Any, Mapping

import gymnax
import jax
from gymnasium import spaces
from gymnax.environments.spaces import gymnax_space_to_gym_space
from gymnax.registration import _registry as factories
from mosaic_contract.arena import check_settings

from .gymnax_pictures import picture_of
from .jax_environment import JaxEnvironment


class GymnaxEnvironment(JaxEnvironment):
    """`settings` are keywords of upstream's class, and its parameters ("max_steps_in_episode", …)."""

    def __init__(self, env_id: str, name: str, settings: Mapping[str, Any], render_mode: str | None) -> None:
        made, params = gymnax.make(name)
        known = set(vars(params))
        check_settings(env_id, settings, factories[name], also=sorted(known))
        changed = {key: value for key, value in settings.items() if key in known}
        others = {key: value for key, value in settings.items() if key not in known}
        if others:
            made, params = gymnax.make(name, **others)
        params = params.replace(**changed)
        super().__init__(env_id, made, params, render_mode)
        self.name = name
        self.observation_space = gymnax_space_to_gym_space(made.observation_space(params))
        self.action_space = gymnax_space_to_gym_space(made.action_space(params))

    def observed(self, observation: Any) -> Any:
        if isinstance(self.observation_space, spaces.Discrete):
            return int(observation)
        return super().observed(observation).astype(self.observation_space.dtype)

    def late(self, state: Any, over: Any) -> Any:
        return jax.numpy.logical_and(self.inner.is_truncated(state, self.params), jax.numpy.logical_not(over))

    def render(self) -> Any:
        return picture_of(self.inner, self.state, self.params)
