"""The environments of a batch, one by one, for frames of a training."""

from __future__ import annotations

from typing import Any, Callable

import jax
from mosaic_contract import TrainingConfig
from mosaic_contract.fastlane import TrainingFrames

from .counting import Counted
from .pictures import Painter


class View:
    """One environment of a batch, as it is now. `state` gives the state of the batch."""

    def __init__(self, painter: Painter, state: Callable[[], Counted], index: int) -> None:
        self._painter = painter
        self._state = state
        self._index = index

    @property
    def unwrapped(self) -> View:
        return self

    def render(self) -> Any:
        return self._painter.draw(jax.tree.map(lambda array: array[self._index], self._state().inner))

    def score(self) -> tuple[float, float]:
        """The latest reward, and the return of the episode so far."""
        state = self._state()
        return float(state.rewards[self._index]), float(state.returns[self._index])


def make_frames(config: TrainingConfig, env: Any, count: int, state: Callable[[], Counted]) -> TrainingFrames:
    """The frames of a training on a batch of `count` environments."""
    frames = TrainingFrames(config.env_id, config.run_dir, config.fastlane, count)
    if config.fastlane.enabled:
        try:
            painter = Painter(env)
        except ValueError as error:
            frames.end(str(error))
        else:
            for index in range(count):
                view = View(painter, state, index)
                if frames.show(view, view.score):
                    break
    return frames
