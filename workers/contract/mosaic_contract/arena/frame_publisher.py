"""Frames of an arena: drawn only when there is a viewer and one is due, also while nothing moves.

Drawing changes nothing that an episode depends on: every random generator is put back as it was. Whatever
goes wrong with a frame ends the frames and is reported to viewers; the arena continues.
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
from mosaic_contract.fastlane.frame import adapted

LOOK_SECONDS = 0.05  # between looks for a viewer, while nothing moves
_SOON_SECONDS, _SOON_LOOKS = 0.01, 20  # the first looks after a step: the last frame was a moment ago
_SHARE = 0.2  # of the time; people step and play by these pictures


class FramePublisher:
    """The frames of one environment. `hud` returns the facts beside the picture."""

    def __init__(
        self,
        folder: Path,
        environment: EnvironmentAdapter,
        why_not: str,
        hud: Callable[[], Hud],
        watchdog: Watchdog,
    ) -> None:
        self._environment = environment
        self._hud = hud
        self._watchdog = watchdog
        self._writer = FrameWriter(folder, share=_SHARE)
        self._fresh = False  # a state that no frame was made of yet
        self._watched = False  # by a viewer, at any time
        self._looks = 0  # since it came
        self._steps, self._since = 0, time.monotonic()
        self.cannot_draw = why_not
        """Why the environment was made without pictures; empty where it draws."""
        if why_not:
            self._writer.end(why_not)

    @property
    def ended(self) -> str | None:
        """Why there will be no frames."""
        return self._writer.ended

    def changed(self) -> None:
        """Note that the state is another one."""
        self._fresh = True
        self._looks = 0
        self._steps += 1
        if self._writer.due():
            self._draw()

    def ended_episode(self) -> None:
        """Draw the last state of an episode, also for viewers who look away now and back later."""
        if self._fresh and self._watched and not self._writer.ended:
            self._draw()

    def idle(self) -> float | None:
        """Draw what is due while nothing moves; return the seconds until the next call, None for no need."""
        if not self._fresh or self._writer.ended:
            return None
        if self._writer.due():
            self._draw()
            return None
        self._looks += 1
        return _SOON_SECONDS if self._looks <= _SOON_LOOKS else LOOK_SECONDS

    def frame(self) -> Any:
        """Return the state now as an array of uint8 (height, width, 3). Raises what the environment
        raises, and ValueError for what is not a picture."""
        picture = self._rendered()
        numpy = importlib.import_module("numpy")
        pixels, (height, width, channels) = adapted(picture, numpy.shape(picture))
        pixels = numpy.asarray(pixels).reshape(height, width, channels)
        return numpy.repeat(pixels, 3, axis=2) if channels == 1 else pixels[:, :, :3].copy()

    def _rendered(self) -> Any:
        with self._watchdog.drawing(), preserved_random_state([self._environment.env]):
            picture = self._environment.render()
        if picture is None:
            raise ValueError("its render() returns None")
        return picture

    def close(self) -> None:
        self._writer.close()

    def _draw(self) -> None:
        self._fresh, self._watched = False, True
        try:
            picture = self._rendered()
            now = time.monotonic()
            speed = self._steps / max(now - self._since, 1e-6)
            self._steps, self._since = 0, now
            self._writer.publish(picture, self._hud()._replace(steps_per_second=speed))
        except Exception as error:  # whatever an environment's own code raises, or pictures that are none
            self._writer.end(f"this environment cannot be drawn here: {one_line(error)}")


def seed_libraries(seed: int) -> None:
    """Seed Python's and NumPy's shared generators, for environments that use them."""
    random.seed(seed)
    with contextlib.suppress(ImportError):
        importlib.import_module("numpy").random.seed(seed % (1 << 32))
