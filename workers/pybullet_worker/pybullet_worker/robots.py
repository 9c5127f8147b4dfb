"""PyBullet's robot environments that this worker can make, by id."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Mapping

from mosaic_contract.arena import EnvironmentFacts, facts_of_joints

if TYPE_CHECKING:
    from .bullet_environment import BulletEnvironment

_WALK = "You control the joints of a robot, which should walk forward, fast and without falling:"
_RUN = "You control the joints of a robot, which should run to the flag, which then moves on:"
_TASKS = {  # by id; the others need a display, MPI, protobuf, or take each other's simulation
    "AntBulletEnv-v0": f"{_WALK} an ant with four legs.",
    "CartPoleBulletEnv-v1": "Keep the pole on the cart upright by pushing the cart.",
    "CartPoleContinuousBulletEnv-v0": "Keep the pole on the cart upright by pushing the cart.",
    "HalfCheetahBulletEnv-v0": f"{_WALK} half a cheetah.",
    "HopperBulletEnv-v0": f"{_WALK} a single leg.",
    "HumanoidBulletEnv-v0": f"{_WALK} a humanoid.",
    "HumanoidFlagrunBulletEnv-v0": f"{_RUN} a humanoid.",
    "HumanoidFlagrunHarderBulletEnv-v0": f"{_RUN} a humanoid, at which cubes are thrown.",
    "InvertedDoublePendulumBulletEnv-v0": "Keep two poles, one on top of the other, upright on a cart.",
    "InvertedPendulumBulletEnv-v0": "Keep the pole on the cart upright.",
    "InvertedPendulumSwingupBulletEnv-v0": "Swing the pole on the cart up, and keep it there.",
    "MinitaurBulletDuckEnv-v0": f"{_WALK} Minitaur, with four legs and a duck on its back.",
    "MinitaurBulletEnv-v0": f"{_WALK} Minitaur, with four legs.",
    "PusherBulletEnv-v0": "Push the cylinder to the target with an arm.",
    "ReacherBulletEnv-v0": "Bring the tip of an arm with two joints to the target.",
    "ThrowerBulletEnv-v0": "Throw the ball into the box with an arm.",
    "Walker2DBulletEnv-v0": f"{_WALK} two legs that move in a plane.",
}
_PUSHES = ("push left", "push right")


def ids() -> tuple[str, ...]:
    return tuple(_TASKS)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> BulletEnvironment:
    from .bullet_environment import BulletEnvironment

    upstream, steps = _registered(env_id)
    return BulletEnvironment(env_id, upstream, steps, settings, render_mode)


def facts_of(env: BulletEnvironment, agent: str) -> EnvironmentFacts:
    task = _TASKS[env.env_id]
    if getattr(env.action_space, "n", None) == len(_PUSHES):
        keys = {"ArrowLeft": 0, "ArrowRight": 1}
        return EnvironmentFacts(_PUSHES, keys, instructions=task, packages=("pybullet",))
    return facts_of_joints(env.joints(), env.action_space, task, "pybullet")


@lru_cache(maxsize=None)
def _registered(env_id: str) -> tuple[Any, int]:
    """Return the class of an id, and after how many steps an episode is truncated."""
    import importlib
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old gym's about itself
        import gym
        import pybullet_envs  # noqa: F401  (registers them)

        spec = gym.envs.registry.env_specs[env_id]
    module, _, name = spec.entry_point.partition(":")
    return getattr(importlib.import_module(module), name), int(spec.max_episode_steps)
