"""Frames of the environments that are trained on, drawn only when somebody watches and a frame is due.

Environments that are shown can draw, but have no render mode outside of a drawing: in some a step does more
when they have one. Drawing leaves every random generator as it was. Whatever goes wrong ends the frames, and
is told to those who watch; the training goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mosaic_contract import TrainingConfig
from mosaic_contract.fastlane import RENDER_MODE, FrameWriter, Hud, draw

from .algorithms import CONTINUOUS
from .config import Plan
from .environments import make, one_line

if TYPE_CHECKING:
    from .telemetry import Journal
    from .worlds import Episode


class Frames:
    """The frames of one training: of as many environments as the grid has places for, and as there are."""

    def __init__(self, config: TrainingConfig, environments: int) -> None:
        self._env_id = config.env_id
        self._grid = min(config.fastlane.grid, environments)
        self._shown: list[tuple[Any, Episode]] = []
        fastlane = config.fastlane
        self._writer = FrameWriter(config.run_dir, max_fps=fastlane.max_fps, enabled=fastlane.enabled)
        self.due = self._writer.due
        self.close = self._writer.close

    def make(self, plan: Plan) -> Any:
        """An environment, able to draw if it will be shown. Raises what `environments.make` raises."""
        continuous = plan.world.kind == CONTINUOUS
        if self._writer.ended or len(self._shown) == self._grid:
            return make(self._env_id, continuous=continuous, render_mode=None)
        try:
            env = make(self._env_id, continuous=continuous, render_mode=RENDER_MODE)
            env.unwrapped.render_mode = None
        except Exception as error:  # whatever an environment's own code raises
            self._writer.end(
                f"{self._env_id} cannot be made with the render mode {RENDER_MODE}: {one_line(error)}"
            )
            return make(self._env_id, continuous=continuous, render_mode=None)
        return env

    def show(self, env: Any, episode: Episode) -> bool:
        """Show an environment if there is a place. True for the last, whose steps are those to ask after."""
        if self._writer.ended or len(self._shown) == self._grid:
            return False
        self._shown.append((env, episode))
        return len(self._shown) == self._grid

    def publish(self, journal: Journal) -> None:
        """Draw and publish a frame. If that fails there will be no more: none is due again."""
        try:
            self._writer.publish(draw([env for env, _ in self._shown]), self._hud(journal))
        except Exception as error:  # whatever an environment's own code raises, or frames that are none
            self._writer.end(f"{self._env_id} cannot be drawn here: {one_line(error)}")

    def _hud(self, journal: Journal) -> Hud:
        count = len(self._shown)
        return Hud(
            episode=journal.telemetry.episodes,
            step=journal.steps,
            reward=sum(episode.reward for _, episode in self._shown) / count,
            episode_return=sum(episode.total for _, episode in self._shown) / count,
            steps_per_second=journal.rate,
            text=f"means of {count} environments" if count > 1 else "",
        )
