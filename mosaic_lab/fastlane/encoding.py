"""Encoding of frames for a page or a film, by their content and by the bandwidth to the page.

A frame of few colours is deflated, which costs less than to send it; small frames and flat ones are never
changed by a lossy encoding. A large frame full of detail is sent raw, because that costs the kernel least,
unless the bandwidth is too low: then it becomes a JPEG.
"""

from __future__ import annotations

import zlib
from io import BytesIO
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np

from mosaic_lab.fastlane.packet import Encoding, Packet

if TYPE_CHECKING:
    from mosaic_contract.fastlane import Frame

SMALL_BYTES = 64 << 10
LARGE_BYTES = 512 << 10
"""Beyond it even a wide way is served better by a JPEG: the page takes longer over such a message than over
decoding."""
FLAT = 0.15
"""Size after deflating over size before, of a flat frame at most."""
MOST_PIXELS = 2 << 20
"""Of a frame on a page; larger ones are reduced by whole factors."""
QUALITY = 80
_BANDS, _BAND_BYTES = 16, 4 << 10

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


class Content:
    """The character of a run's frames: judged on one of them, true for those of the same size for a while."""

    def __init__(self, frame: Frame) -> None:
        self.shape = frame.shape
        self.nbytes = frame.height * frame.width * frame.channels
        sample = _sample(frame.pixels)
        self.ratio = len(zlib.compress(sample, 1)) / len(sample)

    def encoding(self, narrow: bool) -> Encoding:
        """Return the encoding for a connection of low (``narrow``) or high bandwidth."""
        if self.nbytes <= SMALL_BYTES:
            return "deflate" if narrow and self.ratio < 0.9 else "raw"
        if self.ratio <= FLAT:
            return "deflate"
        return "jpeg" if narrow or self.nbytes > LARGE_BYTES else "raw"


def encode(frame: Frame, encoding: Encoding) -> Packet:
    """Return the frame in this encoding, no larger than a page needs."""
    height, width, channels, pixels = _fitting(frame)
    data = pixels
    if encoding == "deflate":
        data = zlib.compress(pixels, 1)
    elif encoding == "jpeg":
        channels, data = _jpeg(height, width, channels, pixels)
    return Packet(frame.sequence, frame.published, width, height, channels, encoding, data, frame.hud)


def _sample(pixels: bytes) -> bytes:
    """A few parts from all over the frame."""
    if len(pixels) <= _BANDS * _BAND_BYTES:
        return pixels
    step = len(pixels) // _BANDS
    return b"".join(pixels[band * step : band * step + _BAND_BYTES] for band in range(_BANDS))


def _fitting(frame: Frame) -> tuple[int, int, int, bytes]:
    """Height, width, channels and pixels, each of them the mean of a square where there were too many."""
    height, width, channels = frame.height, frame.width, frame.channels
    if height * width <= MOST_PIXELS:
        return height, width, channels, frame.pixels
    from PIL import Image

    image = Image.frombuffer(_MODES[channels], (width, height), frame.pixels, "raw", _MODES[channels], 0, 1)
    small = image.reduce(ceil(sqrt(height * width / MOST_PIXELS)))
    return small.height, small.width, channels, small.tobytes()


def _jpeg(height: int, width: int, channels: int, pixels: bytes) -> tuple[int, bytes]:
    """Channels and data of a JPEG file, which knows no transparency: what shows through is black."""
    from PIL import Image

    if channels == 4:
        from mosaic_lab.fastlane.pictures import rgb

        pixels = rgb(np.frombuffer(pixels, np.uint8).reshape(height, width, 4)).tobytes()
        channels = 3
    file = BytesIO()
    mode = _MODES[channels]
    Image.frombuffer(mode, (width, height), pixels, "raw", mode, 0, 1).save(file, "JPEG", quality=QUALITY)
    return channels, file.getvalue()
