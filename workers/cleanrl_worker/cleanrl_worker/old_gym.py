"""Environments of the old gym under Gymnasium's API, for trainings and for arenas."""

from __future__ import annotations

from typing import Any

from mosaic_contract.fastlane import RENDER_MODE


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
