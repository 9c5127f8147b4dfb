"""Gymnasium's classic control environments and Lunar Lander: the meaning of each number."""

from __future__ import annotations

import re
from typing import Any, Mapping

from mosaic_contract.language.describers.environment_describer import EnvironmentDescriber, number

_ENVIRONMENTS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "CartPole": (
        "A pole stands on a cart that moves along a track. Push the cart left or right so that the pole does "
        "not fall. The episode ends when the pole leans more than 0.21 rad or the cart is more than 2.4 m "
        "from the middle; each step before that gives a reward of 1.",
        "Push to the side to which the pole leans and turns.",
        (
            "position of the cart, m (negative: left)",
            "velocity of the cart, m/s",
            "angle of the pole, rad (negative: leans to the left)",
            "angular velocity of the pole, rad/s",
        ),
    ),
    "MountainCar": (
        "A car stands in a valley between two hills, and its engine is too weak to drive straight up. Reach "
        "the flag on the right hill, at position 0.5 (the valley's lowest point is at -0.5). Each step costs "
        "1.",
        "Push into the direction in which the car moves, so that it swings higher each time.",
        ("position of the car", "velocity of the car (negative: to the left)"),
    ),
    "MountainCarContinuous": (
        "A car stands in a valley between two hills, and its engine is too weak to drive straight up. Reach "
        "the flag on the right hill, at position 0.45 (the valley's lowest point is at -0.5). The action is "
        "the force, from -1 (left) to 1 (right); force costs a little, the flag gives 100.",
        "Push into the direction in which the car moves, so that it swings higher each time.",
        ("position of the car", "velocity of the car (negative: to the left)"),
    ),
    "Acrobot": (
        "Two rods hang from a fixed point, joined end to end; a motor turns the joint between them. Swing "
        "the free end above a line one rod's length over the fixed point. Each step costs 1.",
        "Apply the torque in the direction in which the joint already turns, so that the swing grows.",
        (
            "cosine of the first rod's angle (1: hangs down)",
            "sine of the first rod's angle",
            "cosine of the second rod's angle to the first",
            "sine of the second rod's angle to the first",
            "angular velocity of the first rod, rad/s",
            "angular velocity of the second rod, rad/s",
        ),
    ),
    "Pendulum": (
        "A rod hangs from a fixed point. Swing it up and keep it upright. The action is the torque at the "
        "fixed point, from -2 to 2. Each step costs the more, the further the rod is from upright and the "
        "faster it turns.",
        "When the rod hangs, push in the direction in which it turns; near the top, push against its motion.",
        ("cosine of the angle (1: upright)", "sine of the angle", "angular velocity, rad/s"),
    ),
    "LunarLander": (
        "A lander descends to a pad at position (0, 0). Land there softly, upright and with both legs on the "
        "ground. Engines cost a little, a crash costs 100.",
        "Keep upright with the side engines, and fire the main engine when you fall faster than about 0.5.",
        (
            "horizontal position (negative: left of the pad)",
            "height above the pad",
            "horizontal velocity",
            "vertical velocity (negative: falling)",
            "angle, rad (negative: leans to the right)",
            "angular velocity",
            "left leg on the ground (1: yes)",
            "right leg on the ground (1: yes)",
        ),
    ),
}
_NAME = re.compile(rf"(?:.*[/:])?({'|'.join(_ENVIRONMENTS)})(Continuous)?(?:-v\d+)?")


def describer(env_id: str, space: Mapping[str, Any] | None) -> EnvironmentDescriber | None:
    """Return the describer of a classic control environment; None for other environments and observations."""
    match = _NAME.fullmatch(env_id)
    if match is None or not space:
        return None
    rules, advice, labels = _ENVIRONMENTS.get(match[1] + (match[2] or ""), _ENVIRONMENTS[match[1]])
    if space.get("shape") != [len(labels)]:
        return None
    return EnvironmentDescriber(
        rules=rules,
        advice=advice,
        observe=lambda observation, _: "\n".join(
            f"- {label}: {number(value)}" for label, value in zip(labels, observation)
        ),
    )
