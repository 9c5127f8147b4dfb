"""A walk between walls, with action masks in the form that sb3-contrib's MaskablePPO takes.

Registered as `masked_walk:MaskedWalk-v0`; a masked action ends the episode with a reward of -10.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np


class MaskedWalk(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Box(0, 20, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(4)
    place = 0

    def action_masks(self) -> Any:
        return np.array([self.place % 2 == 0, self.place % 2 == 1, self.place > 0, False])

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self.action_masks()[action]:
            return self._seen(), -10.0, True, False, {}
        self.place += -1 if action == 2 else 1
        return self._seen(), -0.1, self.place == 20, False, {}

    def _seen(self) -> Any:
        return np.array([self.place], np.float32)


gymnasium.register("MaskedWalk-v0", MaskedWalk, max_episode_steps=60)
