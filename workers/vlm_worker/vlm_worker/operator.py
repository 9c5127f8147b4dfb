"""A vision model as an operator: frames → prompt with images → answer → legal action."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy
from mosaic_contract import AgentSetup, ConfigError
from mosaic_contract.language.operator import LanguageOperator
from mosaic_contract.language.prompt_settings import VisionSettings
from mosaic_contract.language.prompts import PICTURES
from PIL import Image


class VisionOperator(LanguageOperator):
    """Sends its model the latest frames and requests an action, as a `LanguageOperator` does. Raises
    `ConfigError` if there is no frame."""

    medium = PICTURES
    names_teammates = False  # earlier versions did not, and their recordings replay

    def __init__(self, setup: AgentSetup) -> None:
        self._vision = VisionSettings.read(setup.settings)
        self._frames: deque[bytes] = deque(maxlen=self._vision.images)
        super().__init__(setup)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        super().episode_begin(seed, episode_index)
        self._frames.clear()

    def images(self, frame: Any) -> Sequence[bytes]:
        if frame is None:
            raise ConfigError(f"{self.game} gives no picture here, and a vision model acts from pictures")
        self._frames.append(png_of(frame, self._vision.max_side))
        return tuple(self._frames)

    def text(self, observation: Any, **context: Any) -> str:
        caption = "The picture shows the environment now."
        if (count := len(self._frames)) > 1:
            caption = f"The {count} pictures show the environment's latest steps, the last one now."
        return f"{caption}\n\n{super().text(observation, **context)}" if self._vision.text else caption

    def note(self, note: str, name: str) -> str:
        return note or f"Your last action: {name}."


def png_of(frame: Any, max_side: int | None) -> bytes:
    """Return a frame, uint8 (height, width, 3), as a PNG file with at most `max_side` pixels on its longer
    side. The same frame gives the same bytes. Raises `ValueError` for an invalid frame."""
    pixels = numpy.asarray(frame)
    if pixels.dtype != numpy.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(f"a frame must be uint8 (height, width, 3), not {pixels.dtype} {pixels.shape}")
    image = Image.fromarray(numpy.ascontiguousarray(pixels), "RGB")
    if max_side is not None:
        image.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
