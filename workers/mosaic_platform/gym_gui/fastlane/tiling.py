"""Tile several frames into one picture."""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy


def tile_frames(frames: Sequence[Any]) -> Any:
    """Return frames (height, width, channels) of one shape as a near-square grid, the rest of it black."""
    if not frames or len({numpy.shape(frame) for frame in frames}) != 1 or numpy.ndim(frames[0]) != 3:
        raise ValueError("tile_frames needs frames of one shape (height, width, channels)")
    rows = math.ceil(math.sqrt(len(frames)))
    columns = math.ceil(len(frames) / rows)
    height, width, channels = numpy.shape(frames[0])
    grid = numpy.zeros((rows * height, columns * width, channels), numpy.asarray(frames[0]).dtype)
    for number, frame in enumerate(frames):
        top, left = height * (number // columns), width * (number % columns)
        grid[top : top + height, left : left + width] = frame
    return grid
