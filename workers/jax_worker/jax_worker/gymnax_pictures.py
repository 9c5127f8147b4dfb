"""Pictures of gymnax's environments: by its own visualizer where it knows them, else their observation's
numbers."""

from __future__ import annotations

from typing import Any

import jax
import matplotlib
import numpy

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from gymnax.visualize import Visualizer

_KNOWN = (
    *("Acrobot-v1", "CartPole-v1", "Pendulum-v1", "MountainCar-v0", "MountainCarContinuous-v0"),
    *("Asterix-MinAtar", "Breakout-MinAtar", "Freeway-MinAtar", "Seaquest-MinAtar", "SpaceInvaders-MinAtar"),
    *("Catch-bsuite", "PointRobot-misc", "FourRooms-misc", "MetaMaze-misc", "Pong-misc"),
)


def picture_of(env: Any, state: Any, params: Any) -> Any:
    """Return the state as an array of (height, width, 3) uint8."""
    with plt.ioff():
        if env.name in _KNOWN:
            visualizer = Visualizer(env, params, [state])
            visualizer.init()
            figure = visualizer.fig
        else:
            figure = _grid(env, state, params)
        try:
            figure.canvas.draw()
            return numpy.asarray(figure.canvas.buffer_rgba())[:, :, :3].copy()
        finally:
            plt.close(figure)


def _grid(env: Any, state: Any, params: Any) -> Any:
    """Return a figure of the observation's numbers."""
    numbers = numpy.atleast_2d(numpy.asarray(env.observe(jax.random.key(0), state, None, params), float))
    figure, axes = plt.subplots(figsize=(6, 5))
    axes.imshow(numbers.reshape(numbers.shape[0], -1), cmap="cividis", vmin=-1, vmax=1)
    for (row, column), number in numpy.ndenumerate(numbers.reshape(numbers.shape[0], -1)):
        axes.text(column, row, f"{number:.3g}", ha="center", va="center", color="white", fontsize=8)
    axes.set_axis_off()
    axes.set_title(env.name)
    return figure
