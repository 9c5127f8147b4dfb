"""Rendering of environments without side effects on a training or an episode. Requires NumPy."""

from __future__ import annotations

import math
import random
import sys
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Callable, Iterator, Sequence

Picture = Any  # a NumPy array

RENDER_MODE = "rgb_array"
_GAP = 4  # pixels between the environments of a grid
_LARGEST_GRID = 4_000_000  # pixels; larger grids are subsampled to every second (third, …) row and column


def draw(environments: Sequence[Any]) -> Picture:
    """Return one image (height, width[, channels]) of all environments, in rows of a near-square grid.

    An environment with render mode None gets `RENDER_MODE` only while it is rendered, because in some
    environments a step does more work with a render mode. Raises ValueError if `render()` returns None, and
    any error of `render()`.
    """
    with preserved_random_state(environments):
        pictures = [_drawn(env) for env in environments]
    return _side_by_side(pictures)


@contextmanager
def preserved_random_state(environments: Sequence[Any]) -> Iterator[None]:
    """Restore the random generators afterwards: Python's, NumPy's and the environments' own."""
    own = [getattr(getattr(env, "unwrapped", None), "np_random", None) for env in environments]
    numpy = sys.modules.get("numpy")
    restore = [_kept(generator) for generator in own]
    of_python, of_numpy = random.getstate(), numpy.random.get_state() if numpy else None
    try:
        yield
    finally:
        random.setstate(of_python)
        if numpy:
            numpy.random.set_state(of_numpy)
        for put_back in restore:
            put_back()


def _kept(generator: Any) -> Callable[[], None]:
    """Return a function that restores a NumPy generator, of either kind, to its current state."""
    if hasattr(generator, "bit_generator"):
        bits, state = generator.bit_generator, generator.bit_generator.state
        return lambda: setattr(bits, "state", state)
    if hasattr(generator, "get_state"):
        old = generator.get_state()
        return lambda: generator.set_state(old)
    return lambda: None


def _drawn(env: Any) -> Picture:
    inner = env.unwrapped
    borrowed = getattr(inner, "render_mode", RENDER_MODE) is None
    if borrowed:
        inner.render_mode = RENDER_MODE
    try:
        picture = env.render()
    finally:
        if borrowed:
            inner.render_mode = None
    if picture is None:
        raise ValueError("its render() returns None")
    return import_module("numpy").asarray(picture)


def _side_by_side(pictures: Sequence[Picture]) -> Picture:
    if len(pictures) == 1:
        return pictures[0]
    columns = math.ceil(math.sqrt(len(pictures)))
    rows = math.ceil(len(pictures) / columns)
    pixels = rows * columns * max(picture.shape[0] * picture.shape[1] for picture in pictures)
    every = math.ceil(math.sqrt(pixels / _LARGEST_GRID))
    pictures = [picture[::every, ::every] for picture in pictures]
    height = max(picture.shape[0] for picture in pictures) + _GAP
    width = max(picture.shape[1] for picture in pictures) + _GAP
    shape = (rows * height - _GAP, columns * width - _GAP, *pictures[0].shape[2:])
    sheet = import_module("numpy").zeros(shape, pictures[0].dtype)
    for index, picture in enumerate(pictures):
        top, left = index // columns * height, index % columns * width
        sheet[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return sheet
