"""A frame in the form in which it travels to a page and waits in a recording.

The encodings are those of the page: ``raw`` is the pixels in C order,
``deflate`` the same in zlib's format, ``jpeg`` a JPEG file.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Hud

Encoding = Literal["raw", "deflate", "jpeg"]
Pixels = np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]
"""Height × width × channels (1 gray, 3 RGB, 4 RGBA), 0 to 255."""


@dataclass(frozen=True, slots=True, eq=False)
class Packet:
    """One encoded frame with its HUD record. ``published``: Unix seconds, by the worker's clock."""

    sequence: int
    published: float
    width: int
    height: int
    channels: int
    encoding: Encoding
    data: bytes = field(repr=False)
    hud: Hud

    def decode(self) -> Pixels:
        """Return the read-only pixels, those of a JPEG as it kept them. Raises ValueError for bad data."""
        shape = self.height, self.width, self.channels
        try:
            if self.encoding == "jpeg":
                return _jpeg(self.data, self.channels).reshape(shape)
            data = self.data
            if self.encoding == "deflate":
                data = zlib.decompressobj().decompress(data, self.height * self.width * self.channels + 1)
            return np.frombuffer(data, np.uint8).reshape(shape)
        except (ValueError, OSError, zlib.error) as error:
            raise ValueError(
                f"frame {self.sequence} is not a valid {self.encoding} of shape {shape}: {error}"
            ) from error


def _jpeg(data: bytes, channels: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    from PIL import Image

    with Image.open(BytesIO(data), formats=["JPEG"]) as image:
        return np.asarray(image.convert("L" if channels == 1 else "RGB"))
