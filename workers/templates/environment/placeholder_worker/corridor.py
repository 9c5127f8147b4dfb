"""An example environment. FILL IN: replace it by the library's environments or your own."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy


class Corridor(gymnasium.Env[Any, Any]):
    """Walk from a random place to the right end of a corridor; each step costs 1. `length` is the number of
    steps of the corridor (2 to 1,000); an episode has at most four times as many."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, length: int = 10, render_mode: str | None = None) -> None:
        if type(length) is not int or not 2 <= length <= 1000:
            raise ValueError(f"length must be an integer from 2 to 1000, got {length!r}")
        self.length, self.render_mode = length, render_mode
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), numpy.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.place = self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.place, self._steps = int(self.np_random.integers(self.length)), 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place = min(max(self.place + (1 if action == 1 else -1), 0), self.length)
        self._steps += 1
        there, late = self.place == self.length, self._steps >= 4 * self.length
        return self._observation(), -1.0, there, late and not there, {}

    def render(self) -> Any:
        """Return a uint8 picture of shape (32, 8 per step, 3): the agent is white, the end green."""
        picture = numpy.zeros((32, 8 * (self.length + 1), 3), numpy.uint8)
        picture[:, -8:] = 0, 160, 0
        picture[8:24, 8 * self.place : 8 * self.place + 8] = 255
        return picture

    def _observation(self) -> Any:
        return numpy.array([self.place / self.length], numpy.float32)
