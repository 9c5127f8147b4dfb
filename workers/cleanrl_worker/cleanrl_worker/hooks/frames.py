"""Frames of the environments that the script trains on, drawn only when somebody watches and a frame is due.

The environments are made as the script asks, but able to draw: with `render_mode="rgb_array"` where it names
no mode. Outside of a drawing the mode is None again, as it would be: in some environments a step does more
when it has one (LunarLander makes smoke). Drawing leaves every random generator as it was. Whatever goes
wrong ends the frames, and is told to the log and to those who watch; the training goes on.
"""

from __future__ import annotations

import math
import os
import random
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence

import numpy as np
from mosaic_contract.fastlane import FrameWriter, Hud

if TYPE_CHECKING:
    from .training import Training

_MODE = "rgb_array"
_GAP = 4  # pixels between the environments of a grid
_LARGEST_GRID = 4_000_000  # pixels; of a larger one every second (third, …) row and column is taken


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
        if _MODE not in settings["render_modes"]:
            modes = ", ".join(settings["render_modes"]) or "nothing"
            self._writer.end(f"{self._env_id} has no render mode {_MODE}; it renders {modes}")

    def make(self, make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`make(...)`, able to draw if it will be shown. Raises what `make` raises."""
        if self._writer.ended or "render_mode" in kwargs or len(self._shown) == self._grid:
            return make(*args, **kwargs)
        try:
            env = make(*args, **kwargs, render_mode=_MODE)
            env.unwrapped.render_mode = None
        except Exception as error:  # whatever an environment's own code raises
            env = make(*args, **kwargs)
            reason = f"{self._env_id} cannot be made with the render mode {_MODE}: {_one_line(error)}"
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
            with _random_numbers_kept(self._shown):
                pictures = [_draw(env) for env in self._shown]
            self._writer.publish(side_by_side(pictures), self._hud(training))
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


def side_by_side(pictures: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """One picture (h, w) or (h, w, c) of several, in rows of a near-square grid; a single one as it is."""
    if len(pictures) == 1:
        return pictures[0]
    columns = math.ceil(math.sqrt(len(pictures)))
    rows = math.ceil(len(pictures) / columns)
    pixels = rows * columns * max(picture.shape[0] * picture.shape[1] for picture in pictures)
    every = math.ceil(math.sqrt(pixels / _LARGEST_GRID))
    pictures = [picture[::every, ::every] for picture in pictures]
    height = max(picture.shape[0] for picture in pictures) + _GAP
    width = max(picture.shape[1] for picture in pictures) + _GAP
    shape = (rows * height - _GAP, columns * width - _GAP, *pictures[0].shape[2:])
    sheet = np.zeros(shape, pictures[0].dtype)
    for index, picture in enumerate(pictures):
        top, left = index // columns * height, index % columns * width
        sheet[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return sheet


def _draw(env: Any) -> np.ndarray[Any, Any]:
    inner = env.unwrapped
    borrowed = getattr(inner, "render_mode", _MODE) is None
    if borrowed:
        inner.render_mode = _MODE
    try:
        picture = env.render()
    finally:
        if borrowed:
            inner.render_mode = None
    if picture is None:
        raise ValueError("its render() returns None")
    return np.asarray(picture)


@contextmanager
def _random_numbers_kept(environments: Sequence[Any]) -> Iterator[None]:
    """Nothing drawn from a generator inside is missing outside: Python's, NumPy's, the environments' own."""
    own = [getattr(env.unwrapped, "np_random", None) for env in environments]
    generators = [generator for generator in own if isinstance(generator, np.random.Generator)]
    states = [generator.bit_generator.state for generator in generators]
    old = [generator for generator in own if isinstance(generator, np.random.RandomState)]
    old_states = [generator.get_state() for generator in old]
    of_python, of_numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)
        for generator, state in zip(generators, states, strict=True):
            generator.bit_generator.state = state
        for older, old_state in zip(old, old_states, strict=True):
            older.set_state(old_state)


def _hint() -> str:
    if "mujoco" in sys.modules and "MUJOCO_GL" not in os.environ and "DISPLAY" not in os.environ:
        return "; MuJoCo draws without a display under environ={'MUJOCO_GL': 'egl'}"
    return ""


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
