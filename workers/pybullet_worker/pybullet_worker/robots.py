"""PyBullet's robot environments supported by this worker, by id."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, Mapping

import gymnasium
import numpy
from gymnasium import spaces
from mosaic_contract.arena import EnvironmentFacts, check_settings, facts_of_joints

_WALK = "You control the joints of a robot, which should walk forward, fast and without falling:"
_RUN = "You control the joints of a robot, which should run to the flag, which then moves on:"
_TASKS = {  # by id; the others need a display, MPI or protobuf, or interfere with each other's simulation
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
_RESERVED = ("render", "renders")  # they open a window


def ids() -> tuple[str, ...]:
    return tuple(_TASKS)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> BulletEnvironment:
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
    """Return the class of an id, and the number of steps after which an episode is truncated."""
    import importlib
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old gym's warnings about itself
        import gym
        import pybullet_envs  # noqa: F401  (registers them)

        spec = gym.envs.registry.env_specs[env_id]
    module, _, name = spec.entry_point.partition(":")
    return getattr(importlib.import_module(module), name), int(spec.max_episode_steps)


class BulletEnvironment(gymnasium.Env[Any, Any]):
    """A robot in a simulation that is created again for every seed, because state left from an earlier
    episode would affect the next one. ``settings`` are keywords of upstream's class."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    def __init__(
        self, env_id: str, upstream: Any, steps: int, settings: Mapping[str, Any], render_mode: str | None
    ) -> None:
        check_settings(env_id, settings, upstream)
        self.env_id, self.render_mode = env_id, render_mode
        self._upstream, self._max_steps = upstream, steps
        self._settings = {name: value for name, value in settings.items() if name not in _RESERVED}
        self._make(0)
        self.observation_space = spaces.Box(
            self._robot.observation_space.low, self._robot.observation_space.high, dtype=numpy.float32
        )
        actions = self._robot.action_space
        self.action_space = (
            spaces.Discrete(int(actions.n))
            if hasattr(actions, "n")
            else spaces.Box(actions.low, actions.high, dtype=numpy.float32)
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is None:
            self._begin()
        else:
            self._robot.close()
            self._make(seed)
        return self._as_array(self._first_observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, info = self._robot.step(action)
        self._steps += 1
        late = self._steps >= self._max_steps
        return self._as_array(observation), float(reward), bool(terminated), late and not terminated, info

    def render(self) -> Any:
        return self._robot.render(mode="rgb_array")

    def close(self) -> None:
        self._robot.close()

    def joints(self) -> list[str]:
        """Return the names of the joints controlled by an action, or of the motors if joints have none."""
        robot = getattr(self._robot, "robot", None)
        joints = [joint.joint_name for joint in robot.ordered_joints] if robot else []
        count = self.action_space.shape[0]
        if len(joints) != count:
            joints = [f"motor {number}" for number in range(count)]
        return [name.replace("_", " ") for name in joints]

    def _make(self, seed: int) -> None:
        self._robot = self._upstream(**self._settings)
        self._robot.seed(seed)
        self._begin()

    def _begin(self) -> None:
        self._first_observation, self._steps = self._robot.reset(), 0

    def _as_array(self, observation: Any) -> Any:
        return numpy.asarray(observation, numpy.float32)
