"""Images of a state as arrays, rendered by upstream's viewers, which otherwise open windows."""

from __future__ import annotations

from typing import Any, Callable

import jax
import matplotlib
from mosaic_contract import TrainingConfig
from mosaic_contract.fastlane import TrainingFrames

from .episode_statistics import StatisticsState

matplotlib.use("Agg")
matplotlib.rcParams["figure.max_open_warning"] = 0

_INCHES = (4.0, 4.0)  # 400 pixels


class Renderer:
    """A renderer of an environment's states. Raises `ValueError` if upstream has no viewer for it."""

    def __init__(self, env: Any) -> None:
        self._env = env.unwrapped
        viewer: Any = getattr(self._env, "_viewer", None) or getattr(self._env, "_env_viewer", None)
        if not hasattr(viewer, "_display_rgb_array"):
            raise ValueError(f"upstream draws {type(self._env).__name__} in windows only")
        viewer.figure_size = _INCHES
        viewer._display = self._capture
        self._viewer = viewer
        self._frame: Any = None

    def draw(self, state: Any) -> Any:
        """Return an image as an array. Some `render` methods return nothing; then the displayed image is
        captured."""
        self._env.render(state)
        return self._frame

    def _capture(self, figure: Any) -> None:
        self._frame = self._viewer._display_rgb_array(figure)[..., :3].copy()


class BatchMember:
    """The current state of one environment of a batch. `state` returns the state of the batch."""

    def __init__(self, renderer: Renderer, state: Callable[[], StatisticsState], index: int) -> None:
        self._renderer = renderer
        self._state = state
        self._index = index

    @property
    def unwrapped(self) -> BatchMember:
        return self

    def render(self) -> Any:
        return self._renderer.draw(jax.tree.map(lambda array: array[self._index], self._state().inner))

    def score(self) -> tuple[float, float]:
        """Return the latest reward, and the return of the episode so far."""
        state = self._state()
        return float(state.rewards[self._index]), float(state.returns[self._index])


def make_frames(
    config: TrainingConfig, env: Any, count: int, state: Callable[[], StatisticsState]
) -> TrainingFrames:
    """Return the frames of a training on a batch of `count` environments."""
    frames = TrainingFrames.of(config, count)
    if config.fastlane.enabled:
        try:
            renderer = Renderer(env)
        except ValueError as error:
            frames.end(str(error))
        else:
            for index in range(count):
                view = BatchMember(renderer, state, index)
                if frames.show(view, view.score):
                    break
    return frames
