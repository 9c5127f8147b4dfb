"""Task descriptions of gymnax's environments for language operators: gymnax has none itself."""

from __future__ import annotations

from typing import Mapping

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
