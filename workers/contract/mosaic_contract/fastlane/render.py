"""Rendering of environments without side effects on a training or an episode. Requires NumPy."""

from __future__ import annotations

import math
import random
import sys
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Callable, Iterator, Sequence

Image = Any  # a NumPy array

RENDER_MODE = "rgb_array"
_GAP_PIXELS = 4  # between the environments of a grid
_MAX_GRID_PIXELS = 4_000_000  # larger grids are subsampled to every second (third, …) row and column


def draw(environments: Sequence[Any]) -> Image:
    """Return one image (height, width[, channels]) of all environments, in rows of a near-square grid.

    Raises the errors of `rendered`.
    """
    with preserved_random_state(environments):
        images = list(map(rendered, environments))
    return _tile(images)


@contextmanager
def preserved_random_state(environments: Sequence[Any]) -> Iterator[None]:
    """Restore the random generators afterwards: Python's, NumPy's and the environments' own."""
    generators = [getattr(getattr(env, "unwrapped", None), "np_random", None) for env in environments]
    numpy = sys.modules.get("numpy")
    restorers = [_restorer_of(generator) for generator in generators]
    python_state, numpy_state = random.getstate(), numpy.random.get_state() if numpy else None
    try:
        yield
    finally:
        random.setstate(python_state)
        if numpy:
            numpy.random.set_state(numpy_state)
        for restore in restorers:
            restore()


def _restorer_of(generator: Any) -> Callable[[], None]:
    """Return a function that restores a NumPy generator, of either kind, to its current state."""
    if hasattr(generator, "bit_generator"):
        bit_generator, state = generator.bit_generator, generator.bit_generator.state
        return lambda: setattr(bit_generator, "state", state)
    if hasattr(generator, "get_state"):
        state = generator.get_state()
        return lambda: generator.set_state(state)
    return lambda: None


def rendered(env: Any) -> Image:
    """Return the image of one environment.

    An environment with render mode None gets `RENDER_MODE` only while it is rendered, because in some
    environments a step does more work with a render mode (LunarLander creates smoke). Raises ValueError if
    `render()` returns None, and any error of `render()`.
    """
    inner = getattr(env, "unwrapped", env)
    lacks_render_mode = getattr(inner, "render_mode", RENDER_MODE) is None
    if lacks_render_mode:
        inner.render_mode = RENDER_MODE
    try:
        image = env.render()
    finally:
        if lacks_render_mode:
            inner.render_mode = None
    if image is None:
        raise ValueError("its render() returns None")
    return import_module("numpy").asarray(image)


def _tile(images: Sequence[Image]) -> Image:
    if len(images) == 1:
        return images[0]
    columns = math.ceil(math.sqrt(len(images)))
    rows = math.ceil(len(images) / columns)
    pixels = rows * columns * max(image.shape[0] * image.shape[1] for image in images)
    stride = math.ceil(math.sqrt(pixels / _MAX_GRID_PIXELS))
    images = [image[::stride, ::stride] for image in images]
    height = max(image.shape[0] for image in images) + _GAP_PIXELS
    width = max(image.shape[1] for image in images) + _GAP_PIXELS
    shape = (rows * height - _GAP_PIXELS, columns * width - _GAP_PIXELS, *images[0].shape[2:])
    grid = import_module("numpy").zeros(shape, images[0].dtype)
    for index, image in enumerate(images):
        top, left = index // columns * height, index % columns * width
        grid[top : top + image.shape[0], left : left + image.shape[1]] = image
    return grid
