"""`Frame` and `Hud`, and the conversion of a renderer's output to bytes."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Optional

from mosaic_contract.errors import FrameError
from mosaic_contract.fastlane.layout import MAX_FRAME

CHANNELS = (1, 3, 4)


class Hud(NamedTuple):
    """The numbers and texts displayed with a frame. None or "": unknown. ``agent`` is truncated to 100 bytes
    of UTF-8, ``text`` to 300."""

    episode: Optional[int] = None
    step: Optional[int] = None
    reward: Optional[float] = None
    episode_return: Optional[float] = None
    steps_per_second: Optional[float] = None
    agent: str = ""
    text: str = ""


class Frame(NamedTuple):
    """One whole frame.

    ``sequence`` increases for a reader, even if the run's writer restarts. ``published`` is in Unix seconds.
    ``pixels`` are bytes in C order, height x width x channels (1: gray, 3: RGB, 4: RGBA); numpy can use them
    without a copy: ``numpy.frombuffer(frame.pixels, "u1").reshape(frame.shape)``.
    """

    sequence: int
    published: float
    height: int
    width: int
    channels: int
    pixels: bytes
    hud: Hud

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.height, self.width, self.channels


def as_pixels(pixels: Any, shape: tuple[int, ...] | None) -> tuple[Any, tuple[int, int, int]]:
    """Return a frame as a uint8 array or a flat memoryview, and its height, width and channels. ``shape`` is
    required for bytes; arrays have their own. Raises FrameError for invalid frames."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(pixels, numpy.ndarray):
        size = _size(pixels.shape)
        return _as_uint8(numpy, pixels), size
    try:
        data = memoryview(pixels).cast("B")
    except (TypeError, ValueError):
        raise FrameError(f"a frame must be a numpy array or contiguous bytes, not {_name(pixels)}") from None
    if shape is None:
        raise FrameError("a frame of bytes needs shape=(height, width, channels)")
    size = _size(shape)
    if data.nbytes != size[0] * size[1] * size[2]:
        raise FrameError(f"a frame of {data.nbytes} bytes does not have the shape {tuple(shape)}")
    return data, size


def _size(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return height, width and channels of (height, width) or (height, width, channels)."""
    try:
        height, width, channels = (int(n) for n in (*shape, 1)[:3] if len(shape) in (2, 3))
    except (TypeError, ValueError):
        raise FrameError(f"a frame must have the shape (height, width, channels), not {shape}") from None
    if height < 1 or width < 1 or channels not in CHANNELS:
        raise FrameError(f"a frame must have at least one pixel of 1, 3 or 4 channels; its shape is {shape}")
    if height * width * channels > MAX_FRAME:
        raise FrameError(f"a frame of the shape {shape} is larger than {MAX_FRAME >> 20} MiB")
    return height, width, channels


def _as_uint8(numpy: Any, pixels: Any) -> Any:
    """Return uint8 unchanged; scale bool and floats from [0, 1] to 0 to 255."""
    if pixels.dtype == numpy.uint8:
        return pixels
    if pixels.dtype == numpy.bool_:
        return pixels * numpy.uint8(255)
    if pixels.dtype.kind != "f":
        raise FrameError(f"a frame must hold uint8, bool or floats from 0 to 1, not {pixels.dtype}")
    lowest, highest = pixels.min(), pixels.max()
    if not (lowest >= 0 and highest <= 1):  # also catches NaN
        raise FrameError(
            f"a frame of floats must hold 0 to 1, not {lowest:g} to {highest:g}: "
            "scale it, or convert it to uint8"
        )
    return (pixels * 255 + 0.5).astype(numpy.uint8)


def _name(pixels: Any) -> str:
    cls = type(pixels)
    return "None" if pixels is None else f"a {cls.__module__}.{cls.__qualname__}".replace("builtins.", "")
