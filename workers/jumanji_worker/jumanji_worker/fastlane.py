"""The environments of a batch, one by one, for frames of a training."""

from __future__ import annotations

from typing import Any, Callable

import jax
from mosaic_contract import TrainingConfig
from mosaic_contract.fastlane import TrainingFrames

from .episode_statistics import StatisticsState
from .renderer import Renderer


class BatchMember:
    """One environment of a batch, as it is now. `state` gives the state of the batch."""

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
        """The latest reward, and the return of the episode so far."""
        state = self._state()
        return float(state.rewards[self._index]), float(state.returns[self._index])


def make_frames(
    config: TrainingConfig, env: Any, count: int, state: Callable[[], StatisticsState]
) -> TrainingFrames:
    """The frames of a training on a batch of `count` environments."""
    frames = TrainingFrames(config.env_id, config.run_dir, config.fastlane, count)
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
