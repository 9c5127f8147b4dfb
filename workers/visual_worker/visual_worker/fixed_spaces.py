"""highway-env with the spaces that it was made with: upstream makes new ones at every reset."""

from __future__ import annotations

from typing import Any

import gymnasium


class FixedSpaces(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Keeps the spaces, and leaves out of a reset's info the random action that upstream draws for it."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space, self.observation_space = env.action_space, env.observation_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {name: value for name, value in info.items() if name not in ("action", "rewards")}
