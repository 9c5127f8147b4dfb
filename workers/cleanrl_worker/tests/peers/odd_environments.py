"""Environments that are hard to render, `odd_environments:<Name>-v0`; all play the same episodes."""

from __future__ import annotations

import random
from typing import Any

import gymnasium
import numpy as np


class Course(gymnasium.Env):
    """Draws rewards and episode lengths from its own generator and from the two global ones."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.render_mode = render_mode
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        luck = float(self.np_random.random() + np.random.random() + random.random())
        drawn = self.render_mode is not None  # must not show in a training's rewards
        return np.full(2, luck / 3, np.float32), luck + 100 * drawn, luck > 2.5, False, {}

    def render(self) -> Any:
        return np.full((84, 84, 3), self.steps % 256, np.uint8)


class Noisy(Course):
    """Renders noise from all three generators."""

    def render(self) -> Any:
        noise = (
            self.np_random.integers(256, size=(84, 84, 3)) + np.random.randint(256) + random.randrange(256)
        )
        return (noise % 256).astype(np.uint8)


class Blind(Course):
    metadata = {"render_modes": ["ansi"], "render_fps": 30}  # noqa: RUF012


class Broken(Course):
    def render(self) -> Any:
        raise RuntimeError("no paint left")


class Empty(Course):
    def render(self) -> Any:
        return None


class Complex(Course):
    def render(self) -> Any:
        return np.zeros((84, 84, 3), np.complex64)


class Shy(Course):
    """Cannot be created with a render mode."""

    def __init__(self, render_mode: str | None = None) -> None:
        if render_mode is not None:
            raise ValueError("not in public")
        super().__init__()


class Failing(Course):
    """Fails after 500 steps."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.steps == 500:
            raise ArithmeticError("the course ends here")
        return super().step(action)


for kind in (Course, Noisy, Blind, Broken, Empty, Complex, Shy, Failing):
    gymnasium.register(f"{kind.__name__}-v0", entry_point=kind)
