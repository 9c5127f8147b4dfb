"""gymnax's environments."""

from __future__ import annotations

from typing import Any, Mapping

import gymnax
import jax
import matplotlib
import matplotlib.pyplot as plt
import numpy
from gymnasium import spaces
from gymnax.environments.spaces import gymnax_space_to_gym_space
from gymnax.registration import _registry as factories
from gymnax.visualize import Visualizer
from mosaic_contract.arena import check_settings

from .jax_environment import JaxEnvironment

_VISUALIZED = (
    *("Acrobot-v1", "CartPole-v1", "Pendulum-v1", "MountainCar-v0", "MountainCarContinuous-v0"),
    *("Asterix-MinAtar", "Breakout-MinAtar", "Freeway-MinAtar", "Seaquest-MinAtar", "SpaceInvaders-MinAtar"),
    *("Catch-bsuite", "PointRobot-misc", "FourRooms-misc", "MetaMaze-misc", "Pong-misc"),
)


matplotlib.use("Agg")


class GymnaxEnvironment(JaxEnvironment):
    """A gymnax environment. `settings` are keywords of upstream's class, and its parameters
    ("max_steps_in_episode", …).
    """

    def __init__(self, env_id: str, name: str, settings: Mapping[str, Any], render_mode: str | None) -> None:
        upstream_env, params = gymnax.make(name)
        fields = set(vars(params))
        check_settings(env_id, settings, factories[name], also=sorted(fields))
        parameters = {key: value for key, value in settings.items() if key in fields}
        keywords = {key: value for key, value in settings.items() if key not in fields}
        if keywords:
            upstream_env, params = gymnax.make(name, **keywords)
        params = params.replace(**parameters)
        super().__init__(env_id, upstream_env, params, render_mode)
        self.name = name
        self.observation_space = gymnax_space_to_gym_space(upstream_env.observation_space(params))
        self.action_space = gymnax_space_to_gym_space(upstream_env.action_space(params))

    def observed(self, observation: Any) -> Any:
        if isinstance(self.observation_space, spaces.Discrete):
            return int(observation)
        return super().observed(observation).astype(self.observation_space.dtype)

    def late(self, state: Any, done: Any) -> Any:
        return jax.numpy.logical_and(self.inner.is_truncated(state, self.params), jax.numpy.logical_not(done))

    def render(self) -> Any:
        return picture_of(self.inner, self.state, self.params)


def picture_of(env: Any, state: Any, params: Any) -> Any:
    """Return an image of the state, (height, width, 3) uint8."""
    with plt.ioff():
        if env.name in _VISUALIZED:
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
