"""A robot of PyBullet behind Gymnasium's interface: upstream's is that of the old gym."""

from __future__ import annotations

from typing import Any, ClassVar, Mapping

import gymnasium
import numpy
from gymnasium import spaces
from mosaic_contract.arena import check_settings

_OURS = ("render", "renders")  # they open a window


class BulletEnvironment(gymnasium.Env[Any, Any]):
    """A robot in a simulation that is made again for every seed: what is left of an earlier episode would
    change the next one.

    ``settings`` are keywords of upstream's class.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    def __init__(
        self, env_id: str, upstream: Any, steps: int, settings: Mapping[str, Any], render_mode: str | None
    ) -> None:
        check_settings(env_id, settings, upstream)
        self.env_id, self.render_mode = env_id, render_mode
        self._upstream, self._most_steps = upstream, steps
        self._settings = {name: value for name, value in settings.items() if name not in _OURS}
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
        return self._observed(self._first), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, over, info = self._robot.step(action)
        self._steps += 1
        late = self._steps >= self._most_steps
        return self._observed(observation), float(reward), bool(over), late and not over, info

    def render(self) -> Any:
        return self._robot.render(mode="rgb_array")

    def close(self) -> None:
        self._robot.close()

    def joints(self) -> list[str]:
        """Return the names of the joints that an action moves, or of the motors where joints have none."""
        robot = getattr(self._robot, "robot", None)
        joints = [joint.joint_name for joint in robot.ordered_joints] if robot else []
        count = self.action_space.shape[0]  # type: ignore[index]
        if len(joints) != count:
            joints = [f"motor {number}" for number in range(count)]
        return [name.replace("_", " ") for name in joints]

    def _make(self, seed: int) -> None:
        self._robot = self._upstream(**self._settings)
        self._robot.seed(seed)
        self._begin()

    def _begin(self) -> None:
        self._first, self._steps = self._robot.reset(), 0

    def _observed(self, observation: Any) -> Any:
        return numpy.asarray(observation, numpy.float32)
