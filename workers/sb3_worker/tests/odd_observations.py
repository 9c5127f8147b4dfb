"""Environments with images and with dictionaries as observations, such as `odd_observations:Parts-v0`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

_IMAGE = Box(0, 255, (40, 44, 3), np.uint8)


class Pictures(gymnasium.Env[Any, Any]):
    """Random images; action 0 of three is rewarded."""

    observation_space: Any = _IMAGE
    action_space = Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._seen(), float(action == 0), False, False, {}

    def _seen(self) -> Any:
        return self.np_random.integers(0, 256, _IMAGE.shape, np.uint8)


class Parts(Pictures):
    """The image with a vector and a discrete value."""

    observation_space = Dict({"picture": _IMAGE, "place": Box(-1, 1, (2,), np.float32), "door": Discrete(3)})

    def _seen(self) -> Any:
        place = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return {"picture": super()._seen(), "place": place, "door": int(self.np_random.integers(3))}


gymnasium.register("Pictures-v0", Pictures, max_episode_steps=20)
gymnasium.register("Parts-v0", Parts, max_episode_steps=20)
