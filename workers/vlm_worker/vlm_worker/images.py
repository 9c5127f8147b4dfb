"""Frames as the images of a prompt."""

from __future__ import annotations

import io
from typing import Any

import numpy
from PIL import Image


def png_of(frame: Any, max_side: int | None) -> bytes:
    """Return a frame, uint8 (height, width, 3), as a PNG file; its longer side has at most `max_side` pixels.

    The same frame gives the same bytes. Raises `ValueError` for what is not a frame.
    """
    pixels = numpy.asarray(frame)
    if pixels.dtype != numpy.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(f"a frame is uint8 (height, width, 3), not {pixels.dtype} {pixels.shape}")
    image = Image.fromarray(numpy.ascontiguousarray(pixels), "RGB")
    if max_side is not None:
        image.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
