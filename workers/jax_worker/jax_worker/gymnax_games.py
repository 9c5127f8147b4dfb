"""gymnax: classic control, MinAtar, bsuite and small tasks, in JAX.

Ids are upstream's with the prefix "gymnax/".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

from mosaic_contract.arena import EnvironmentFacts

if TYPE_CHECKING:
    from .gymnax_environment import GymnaxEnvironment

_MAZE = "Walk to the goal through a maze of walls."
_ARM = "An arm gives a reward with a certain probability: find the better one."
TASKS: Mapping[str, str] = {  # by upstream's id
    "CartPole-v1": (
        "Keep the pole on the cart upright. You observe the cart's place and speed, the pole's angle and its"
        " speed."
    ),
    "Pendulum-v1": "Swing the pendulum up, and keep it there. You observe its cosine, sine and speed.",
    "Acrobot-v1": (
        "Swing two links up until their end is above the line. You observe the cosines and sines of both"
        " angles, and their speeds."
    ),
    "MountainCar-v0": "Drive the car out of the valley, to the right. You observe its place and speed.",
    "MountainCarContinuous-v0": (
        "Drive the car out of the valley, to the right, with little force. You observe its place and speed."
    ),
    "Asterix-MinAtar": "Collect gold, and keep away from the enemies.",
    "Breakout-MinAtar": "Bounce the ball with your paddle, and break the bricks.",
    "Freeway-MinAtar": "Cross the road to the top, between the cars.",
    "Seaquest-MinAtar": (
        "Shoot fish and submarines, rescue divers, and come up before the oxygen is used up."
    ),
    "SpaceInvaders-MinAtar": "Shoot the aliens, and dodge their bullets.",
    "Catch-bsuite": "Catch the ball that falls with your paddle in the last row.",
    "DeepSea-bsuite": (
        "Reach the lower right corner. Which action goes right differs by place, and it costs a little."
    ),
    "MemoryChain-bsuite": "Remember the number that is shown first, and answer with it at the end.",
    "UmbrellaChain-bsuite": "Decide in the first step whether to take an umbrella for the rain at the end.",
    "DiscountingChain-bsuite": "The first action decides when a reward comes, and how much.",
    "SimpleBandit-bsuite": "Each action has a fixed reward: find the best one.",
    "FourRooms-misc": f"{_MAZE} You observe your place and the goal's, as rows and columns.",
    "MetaMaze-misc": f"{_MAZE} You observe the walls around you, your last action, its reward, and the time.",
    "PointRobot-misc": "Move the point to the goal on the half circle.",
    "BernoulliBandit-misc": _ARM,
    "GaussianBandit-misc": _ARM.replace("with a certain probability", "around a certain mean"),
    "Reacher-misc": "Bring the tip of an arm with two joints to the target.",
    "Swimmer-misc": "Swim to the goal, and keep away from the urchins.",
    "Pong-misc": "Return the ball with your paddle, past the other one.",
    "FrozenLake-misc": "Walk over the ice to the goal, without falling into a hole; the ice is slippery.",
}


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
    """Return a function that describes the positions of objects in a MinAtar game; None for other games,
    whose observations are short vectors."""
    channels = _CHANNELS.get(env.name)
    if channels is None:
        return None

    def describe() -> Mapping[str, Any]:
        import jax
        import numpy

        grid = numpy.asarray(env.inner.observe(jax.random.key(0), env.state, None, env.params))
        lines = [f"On {grid.shape[0]} rows and {grid.shape[1]} columns, from the upper left, there are:"]
        lines += [
            f"- {channels[channel]}: row {row}, column {column}"
            for row, column, channel in zip(*map(list, grid.nonzero()))
        ]
        return {"text": "\n".join(lines)}

    return describe
