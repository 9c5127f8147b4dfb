"""gymnax: classic control, MinAtar, bsuite and small tasks, in JAX. Ids are "gymnax/" and upstream's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

from mosaic_contract.arena import EnvironmentFacts

from .gymnax_tasks import TASKS

if TYPE_CHECKING:
    from .gymnax_environment import GymnaxEnvironment

_PREFIX = "gymnax/"
_DOWNLOADS = ("MNISTBandit-bsuite",)
_ARCADE = ("nothing", "left", "up", "right", "down", "fire")
_COMPASS = ("up", "right", "down", "left")
_SIDES = ("left", "nothing", "right")
_NAMES: Mapping[str, Sequence[str]] = {
    "CartPole-v1": ("left", "right"),
    "Acrobot-v1": _SIDES,
    "MountainCar-v0": _SIDES,
    "Asterix-MinAtar": _ARCADE[:5],
    "Breakout-MinAtar": ("nothing", "left", "right"),
    "Freeway-MinAtar": ("nothing", "up", "down"),
    "Seaquest-MinAtar": _ARCADE,
    "SpaceInvaders-MinAtar": ("nothing", "left", "right", "fire"),
    "Catch-bsuite": _SIDES,
    "UmbrellaChain-bsuite": ("no umbrella", "umbrella"),
    "FourRooms-misc": _COMPASS,
    "MetaMaze-misc": _COMPASS,
    "Pong-misc": ("nothing", "up", "down"),
    "FrozenLake-misc": ("left", "down", "right", "up"),
}
_KEYS = {
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "fire": " ",
    "nothing": "0",
}
_CHANNELS: Mapping[str, Sequence[str]] = {  # of MinAtar's observations
    "Asterix-MinAtar": ("you", "enemy", "trail", "gold"),
    "Breakout-MinAtar": ("your paddle", "ball", "where the ball was", "brick"),
    "Freeway-MinAtar": ("you, a chicken", "car", *(f"car of speed {speed}" for speed in range(1, 6))),
    "Seaquest-MinAtar": (
        *("front of your submarine", "back of your submarine", "your bullet", "trail", "enemy bullet"),
        *("fish", "enemy submarine", "oxygen", "divers on board", "diver"),
    ),
    "SpaceInvaders-MinAtar": (
        *("your cannon", "alien", "alien moving left", "alien moving right", "your bullet", "enemy bullet"),
    ),
}


def ids() -> list[str]:
    import gymnax

    return [f"{_PREFIX}{name}" for name in gymnax.registered_envs if name not in _DOWNLOADS]


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> GymnaxEnvironment:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    os.environ.setdefault("SDL_AUDIODRIVER", "dummy")  # drawing classic control opens the mixer too
    from .gymnax_environment import GymnaxEnvironment

    return GymnaxEnvironment(env_id, env_id.removeprefix(_PREFIX), settings, render_mode)


def facts_of(env: GymnaxEnvironment, agent: str) -> EnvironmentFacts:
    names = _NAMES.get(env.name)
    if names and getattr(env.action_space, "n", None) != len(names):
        names = _ARCADE  # with use_minimal_action_set=False
    keys = {_KEYS[name]: number for number, name in enumerate(names) if name in _KEYS} if names else {}
    return EnvironmentFacts(
        names,
        keys or None,
        instructions=TASKS[env.name],
        describe=_describer(env),
        packages=("gymnax", "jax"),
    )


def _describer(env: GymnaxEnvironment) -> Callable[[], Mapping[str, Any]] | None:
    """Return a function that describes what is where in a game of MinAtar; None for the others, whose
    observations are few numbers."""
    channels = _CHANNELS.get(env.name)
    if channels is None:
        return None

    def describe() -> Mapping[str, Any]:
        import jax
        import numpy

        seen = numpy.asarray(env.inner.observe(jax.random.key(0), env.state, None, env.params))
        lines = [f"On {seen.shape[0]} rows and {seen.shape[1]} columns, from the upper left, there are:"]
        lines += [
            f"- {channels[channel]}: row {row}, column {column}"
            for row, column, channel in zip(*map(list, seen.nonzero()))
        ]
        return {"text": "\n".join(lines)}

    return describe
