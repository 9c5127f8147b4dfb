"""A served environment with Gymnasium's interface."""

from __future__ import annotations

import functools
from contextlib import suppress
from importlib import import_module
from typing import Any, Mapping

from mosaic_contract.environment_server.client import EnvironmentClient
from mosaic_contract.environment_server.served import Served, info_of
from mosaic_contract.environment_server.shared_arrays import Region
from mosaic_contract.spaces import make_space


def environment_of(
    client: EnvironmentClient, env_id: str, description: Mapping[str, Any], render_mode: str | None
) -> Any:
    """Return the environment that a server has made, by its description."""
    env = _environment_class()(client, description, render_mode)
    with suppress(import_module("gymnasium").error.Error):  # an id that its registry would not accept
        env.spec = import_module("gymnasium.envs.registration").EnvSpec(
            env_id, max_episode_steps=description["max_episode_steps"]
        )
    return env


@functools.lru_cache(None)
def _environment_class() -> Any:
    gymnasium = import_module("gymnasium")

    class ServedEnvironment(Served, gymnasium.Env):  # type: ignore[name-defined]
        """An environment of one agent in the process of another worker."""

        def __init__(
            self, client: EnvironmentClient, description: Mapping[str, Any], render_mode: str | None
        ) -> None:
            super().__init__(client, description, render_mode)
            spaces = description["observation_space"], description["action_space"]
            self._region = Region(client.memory, description["start"], *spaces)
            self.observation_space, self.action_space = map(make_space, spaces)

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            gymnasium.Env.reset(self, seed=seed)
            rest = self._reset(seed, options)
            return self._region.observation.read(rest.get("observation")), info_of(rest)

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            rest = self._step(action)
            return (
                self._region.observation.read(rest.get("observation")),
                *self._region.read_ends(),
                info_of(rest),
            )

        def place(self, action: Any) -> None:
            self.action_rest = self._region.action.write(action)

    return ServedEnvironment
