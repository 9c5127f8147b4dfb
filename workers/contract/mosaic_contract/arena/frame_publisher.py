"""Frames of an arena, rendered only if a viewer is present and a frame is due, also between steps.

Rendering does not affect an episode: every random generator is restored. Any error ends the frames and is
reported to viewers; the arena continues.
"""

from __future__ import annotations

import contextlib
import importlib
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic_contract.arena.environment_adapters import EnvironmentAdapter
from mosaic_contract.arena.watchdog import Watchdog
from mosaic_contract.errors import one_line
from mosaic_contract.fastlane import FrameWriter, Hud, preserved_random_state
from mosaic_contract.fastlane.frame import as_pixels

_POLL_SECONDS = 0.05  # between checks for a viewer, between steps
_FAST_POLL_SECONDS, _FAST_POLLS = 0.01, 20  # the first checks after a step: the previous frame is very recent
EPISODE_SHARE, STEP_SHARE = 0.2, 0.5
"""Maximum share of the time spent on frames: in whole episodes, and in single steps, which people watch or
play."""


class FramePublisher:
    """The frames of one environment. `hud` returns the HUD shown with each frame."""

    def __init__(
        self,
        folder: Path,
        environment: EnvironmentAdapter,
        render_problem: str,
        hud: Callable[[], Hud],
        watchdog: Watchdog,
    ) -> None:
        self._environment = environment
        self._hud = hud
        self._watchdog = watchdog
        self._writer = FrameWriter(folder, share=EPISODE_SHARE)
        self._unrendered = False  # a state not rendered yet
        self._watched = False  # by a viewer, at any time
        self._polls = 0  # since the state changed
        self._steps, self._published_at = 0, time.monotonic()
        self.render_problem = render_problem
        """Why the environment was made without rendering; empty if it renders."""
        if render_problem:
            self._writer.end(render_problem)

    @property
    def ended(self) -> str | None:
        """Why there will be no more frames."""
        return self._writer.ended

    def set_share(self, share: float) -> None:
        """Limit rendering to this share of the time."""
        self._writer.share = share

    def changed(self) -> None:
        """Note that the state has changed."""
        self._unrendered = True
        self._polls = 0
        self._steps += 1
        if self._writer.due():
            self._publish()

    def ended_episode(self) -> None:
        """Render the last state of an episode, also for viewers that return later."""
        if self._unrendered and self._watched and not self._writer.ended:
            self._publish()

    def idle(self) -> float | None:
        """Render a due frame between steps. Return the seconds until the next call, or None."""
        if not self._unrendered or self._writer.ended:
            return None
        if self._writer.due():
            self._publish()
            return None
        self._polls += 1
        return _FAST_POLL_SECONDS if self._polls <= _FAST_POLLS else _POLL_SECONDS

    def frame(self) -> Any:
        """Return the current state as a uint8 array (height, width, 3). Raises the environment's errors, and
        ValueError for an invalid image."""
        picture = self._render()
        numpy = importlib.import_module("numpy")
        pixels, (height, width, channels) = as_pixels(picture, numpy.shape(picture))
        pixels = numpy.asarray(pixels).reshape(height, width, channels)
        return numpy.repeat(pixels, 3, axis=2) if channels == 1 else pixels[:, :, :3].copy()

    def _render(self) -> Any:
        with self._watchdog.rendering(), preserved_random_state([self._environment.env]):
            picture = self._environment.render()
        if picture is None:
            raise ValueError("its render() returns None")
        return picture

    def close(self) -> None:
        self._writer.close()

    def _publish(self) -> None:
        self._unrendered, self._watched = False, True
        try:
            picture = self._render()
            now = time.monotonic()
            speed = self._steps / max(now - self._published_at, 1e-6)
            self._steps, self._published_at = 0, now
            self._writer.publish(picture, self._hud()._replace(steps_per_second=speed))
        except Exception as error:  # environments raise arbitrary exceptions; the image may be invalid
            self._writer.end(f"this environment cannot be rendered here: {one_line(error)}")


def seed_libraries(seed: int) -> None:
    """Seed the global generators of Python and NumPy, for environments that use them."""
    random.seed(seed)
    with contextlib.suppress(ImportError):
        importlib.import_module("numpy").random.seed(seed % (1 << 32))
