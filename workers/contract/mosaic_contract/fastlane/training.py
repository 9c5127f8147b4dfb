"""Frames of a training's environments, rendered only if a frame is due for a viewer.

Shown environments have a render mode only while they are rendered: in some, a step does more work with one
(LunarLander creates smoke). Rendering leaves every random generator unchanged. Any error ends the frames, and
is logged and shown to viewers; the training continues.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Union

from mosaic_contract.errors import one_line
from mosaic_contract.fastlane.frame import Hud
from mosaic_contract.fastlane.render import RENDER_MODE, draw
from mosaic_contract.fastlane.writer import FrameWriter

if TYPE_CHECKING:
    from mosaic_contract.config import FastlaneConfig, TrainingConfig

Score = Callable[[], tuple[float, float]]


class TrainingFrames:
    """Publisher of the frames of one training, each an image of as many `environments` as fit in the grid.

    `due` returns whether to `publish` now, and `end` ends the frames with a reason. Call `close` at the end
    of the training, or use it in a `with` statement.
    """

    def __init__(
        self, env_id: str, run_dir: Union[str, Path], fastlane: FastlaneConfig, environments: int
    ) -> None:
        self._env_id = env_id
        self._grid_size = min(fastlane.grid, environments)
        self._environments: list[Any] = []
        self._scores: list[Score] = []
        self._writer = FrameWriter(run_dir, max_fps=fastlane.max_fps, enabled=fastlane.enabled)
        self.due = self._writer.due
        self.end = self._writer.end
        self.close = self._writer.close

    @classmethod
    def of(cls, config: TrainingConfig, environments: int) -> TrainingFrames:
        """Return the publisher of a training with this configuration."""
        return cls(config.env_id, config.run_dir, config.fastlane, environments)

    def __enter__(self) -> TrainingFrames:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def make(self, make: Callable[..., Any]) -> Any:
        """Return `make()`, or `make(render_mode="rgb_array")` if the environment will be shown. Raises the
        errors of `make()`."""
        if self._is_full():
            return make()
        try:
            env = make(render_mode=RENDER_MODE)
            env.unwrapped.render_mode = None
        except Exception as error:  # environments raise arbitrary exceptions
            env = make()
            self.end(f"{self._env_id} cannot be made with the render mode {RENDER_MODE}: {one_line(error)}")
        return env

    def show(self, env: Any, score: Score) -> bool:
        """Show an environment if the grid is not full. `score` returns its latest reward and the return of
        its episode so far. Returns True if it fills the grid: call `due` after each step of this
        environment."""
        if self._is_full():
            return False
        self._environments.append(env)
        self._scores.append(score)
        return len(self._environments) == self._grid_size

    def publish(self, *, episodes: int, steps: int, steps_per_second: float | None) -> None:
        """Render and publish a frame. The frames end if this fails."""
        try:
            rewards, returns = zip(*(score() for score in self._scores))
            count = len(rewards)
            hud = Hud(
                episode=episodes,
                step=steps,
                reward=float(sum(rewards)) / count,
                episode_return=float(sum(returns)) / count,
                steps_per_second=steps_per_second,
                text=f"means of {count} environments" if count > 1 else "",
            )
            self._writer.publish(draw(self._environments), hud)
        except Exception as error:  # environments raise arbitrary exceptions; the frame may be invalid
            self.end(f"{self._env_id} cannot be rendered here: {one_line(error)}{_render_hint()}")

    def _is_full(self) -> bool:
        return self._writer.ended is not None or len(self._environments) == self._grid_size


def _render_hint() -> str:
    if "mujoco" in sys.modules and "MUJOCO_GL" not in os.environ and "DISPLAY" not in os.environ:
        return "; MuJoCo renders without a display under env_vars={'MUJOCO_GL': 'egl'}"
    return ""
