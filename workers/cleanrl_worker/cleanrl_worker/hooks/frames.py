"""Frames of the environments that the script trains on, drawn only when somebody watches and a frame is due.

The environments are made as the script asks, but able to draw: with `render_mode="rgb_array"` where it names
no mode. Outside of a drawing the mode is None again, as it would be: in some environments a step does more
when it has one (LunarLander makes smoke). Drawing leaves every random generator as it was. Whatever goes
wrong ends the frames, and is told to the log and to those who watch; the training goes on.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Callable

from mosaic_contract.fastlane import RENDER_MODE, FrameWriter, Hud, draw

if TYPE_CHECKING:
    from .training import Training


class Frames:
    """The frames of one training. `settings` come from `runtime.hook_settings`."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._env_id: str = settings["env_id"]
        self._grid: int = settings["grid"]
        self._shown: list[Any] = []
        self._scores: list[Callable[[], tuple[float, float]]] = []
        self._writer = FrameWriter(
            settings["run_dir"], max_fps=settings["max_fps"], enabled=settings["enabled"]
        )
        if RENDER_MODE not in settings["render_modes"]:
            modes = ", ".join(settings["render_modes"]) or "nothing"
            self._writer.end(f"{self._env_id} has no render mode {RENDER_MODE}; it renders {modes}")

    def make(self, make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`make(...)`, able to draw if it will be shown. Raises what `make` raises."""
        if self._writer.ended or "render_mode" in kwargs or len(self._shown) == self._grid:
            return make(*args, **kwargs)
        try:
            env = make(*args, **kwargs, render_mode=RENDER_MODE)
            env.unwrapped.render_mode = None
        except Exception as error:  # whatever an environment's own code raises
            env = make(*args, **kwargs)
            reason = f"{self._env_id} cannot be made with the render mode {RENDER_MODE}: {_one_line(error)}"
            self._writer.end(reason)
        return env

    def show(self, env: Any, score: Callable[[], tuple[float, float]]) -> Callable[[], bool] | None:
        """Show an environment if there is room for it in the grid. `score` gives its latest reward and the
        return of its episode so far.

        For the last of the grid this returns what to ask after each of its steps: whether to `publish`.
        """
        if self._writer.ended or len(self._shown) == self._grid:
            return None
        self._shown.append(env)
        self._scores.append(score)
        return self._writer.due if len(self._shown) == self._grid else None

    def publish(self, training: Training) -> None:
        """Draw and publish a frame. If that fails there will be no more: none is due again."""
        try:
            self._writer.publish(draw(self._shown), self._hud(training))
        except Exception as error:  # whatever an environment's own code raises, or frames that are none
            self._writer.end(f"{self._env_id} cannot be drawn here: {_one_line(error)}{_hint()}")

    def close(self) -> None:
        """Nobody can watch any more. May be called again."""
        self._writer.close()

    def _hud(self, training: Training) -> Hud:
        rewards, returns = zip(*(score() for score in self._scores), strict=True)
        count = len(rewards)
        return Hud(
            episode=training.episodes,
            step=training.steps,
            reward=float(sum(rewards)) / count,
            episode_return=float(sum(returns)) / count,
            steps_per_second=training.steps_per_second,
            text=f"means of {count} environments" if count > 1 else "",
        )


def _hint() -> str:
    if "mujoco" in sys.modules and "MUJOCO_GL" not in os.environ and "DISPLAY" not in os.environ:
        return "; MuJoCo draws without a display under environ={'MUJOCO_GL': 'egl'}"
    return ""


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
