"""Environments that each break one promise of Gymnasium's interface, such as `promises:NoInfo-v0`, and some
that keep it in an unusual form. An observation has two numbers, one action is right, an episode has 20 steps.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

LENGTH = 20
ODD_STEP = 5


class Kept(gymnasium.Env[Any, Any]):
    """An environment that keeps every promise."""

    observation_space: Any = Box(-1.0, 1.0, (2,), np.float32)
    action_space: Any = Discrete(2)
    steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return self.seen(), self.reward(action), self.steps == LENGTH, False, {}

    def seen(self) -> Any:
        return np.array([self.steps / LENGTH, 0.5], np.float32)

    def reward(self, action: Any) -> Any:
        return float(action == 1)


class Paid(Kept):
    """The reward of each action is set by a keyword argument."""

    def __init__(self, wages: tuple[float, float] = (0.0, 1.0)) -> None:
        assert isinstance(wages, tuple)
        self._wages = wages

    def reward(self, action: Any) -> Any:
        return self._wages[int(action)]


class NoInfo(Kept):
    def reset(self, **options: Any) -> Any:
        return super().reset(**options)[0]


class NoSeed(Kept):
    def reset(self) -> Any:
        return super().reset()


class FourValues(Kept):
    def step(self, action: Any) -> Any:
        observation, reward, ended, _, info = super().step(action)
        return observation, reward, ended, info


class SixValues(Kept):
    def step(self, action: Any) -> Any:
        return (*super().step(action), {})


class InfoOfNothing(Kept):
    def step(self, action: Any) -> Any:
        return (*super().step(action)[:4], None)


class NoReward(Kept):
    def reward(self, action: Any) -> Any:
        return None


class HugeReward(Kept):
    def reward(self, action: Any) -> Any:
        return 10**400


class VastReward(Kept):
    def reward(self, action: Any) -> Any:
        return -1e308


class DeepReward(Kept):
    """The reward is a number nested in 100,000 lists."""

    def reward(self, action: Any) -> Any:
        value: Any = 1.0
        for _ in range(100_000):
            value = [value]
        return value


class TextAsEnd(Kept):
    def step(self, action: Any) -> Any:
        observation, reward, ended, _, info = super().step(action)
        return observation, reward, ended, "no", info


class TwoEnds(Kept):
    def step(self, action: Any) -> Any:
        observation, reward, ended, cut, info = super().step(action)
        return observation, reward, np.array([ended, ended]), cut, info


class ShortMask(Kept):
    def reset(self, **options: Any) -> Any:
        return super().reset(**options)[0], {"action_mask": np.ones(1, np.int8)}


class NoMask(Kept):
    def reset(self, **options: Any) -> Any:
        return super().reset(**options)[0], {"action_mask": 1}


class OtherShape(Kept):
    def seen(self) -> Any:
        return np.zeros(3, np.float32)


class Missing(Kept):
    observation_space = Dict({"place": Box(-1.0, 1.0, (2,)), "door": Discrete(3)})

    def seen(self) -> Any:
        return {"place": super().seen()}


class Within(Missing):
    def seen(self) -> Any:
        return {"place": [0.0, "left"], "door": 1}


class Beyond(Kept):
    observation_space = Box(0, 10, (2,), np.int64)

    def seen(self) -> Any:
        return np.array([self.steps, -5])


class NoSpace(Kept):
    observation_space = (2,)


class NoSeedOfActions(Kept):
    class Two:
        n = 2

        def sample(self) -> int:
            return 0

        def __repr__(self) -> str:
            return "Two()"

    action_space = Two()


class NoNumbers(Kept):
    observation_space = Box(-1.0, 1.0, (0,), np.float32)

    def seen(self) -> Any:
        return np.zeros(0, np.float32)


class NanReward(Kept):
    def reward(self, action: Any) -> Any:
        return float("nan") if self.steps == ODD_STEP else 1.0


class NanLater(Kept):
    """The reward becomes NaN, but only in episodes with even seeds."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.good = bool(seed and seed % 2)
        return super().reset(seed=seed)

    def reward(self, action: Any) -> Any:
        return 1.0 if self.good or self.steps < ODD_STEP else float("nan")


class InfiniteObservation(Kept):
    def seen(self) -> Any:
        return np.array([-np.inf if self.steps == ODD_STEP else 0.1, 0.5], np.float32)


class OutsideLater(Kept):
    """The first observation is ``first``; a later one is outside the observation space."""

    observation_space: Any = Discrete(3)
    first = 0

    def seen(self) -> Any:
        return self.first if self.steps == 0 else 7 if self.steps == ODD_STEP else 1


class Converted(Kept):
    """Returns a list, an array of size 1, NumPy booleans, and info keys that some libraries cannot handle."""

    def seen(self) -> Any:
        return [self.steps / LENGTH, 0.5]

    def step(self, action: Any) -> Any:
        observation, reward, ended, cut, _ = super().step(action)
        return (
            observation,
            np.array([reward]),
            np.bool_(ended),
            np.array(cut),
            {"episode": "first", 3: "an integer"},
        )


class OnGpu(Kept):
    """Returns rewards and flags as arrays that NumPy cannot convert."""

    class Number:
        shape = ()

        def __init__(self, value: Any) -> None:
            self.value = value

        def item(self) -> Any:
            return self.value

        def __array__(self, *args: Any, **options: Any) -> Any:
            raise TypeError("copy the array to the memory of the host first")

    def step(self, action: Any) -> Any:
        observation, *numbers, info = super().step(action)
        return observation, *map(self.Number, numbers), info


class FromOne(Kept):
    action_space = Discrete(3, start=1)

    def step(self, action: Any) -> Any:
        if not self.action_space.contains(np.int64(action)):
            raise ValueError(f"{action!r} is not in {self.action_space}")
        return super().step(action)

    def reward(self, action: Any) -> Any:
        return float(action == 3)


class OneNumber(Kept):
    observation_space = Box(-1.0, 1.0, (), np.float32)

    def seen(self) -> Any:
        return np.float32(0.1)


class CloseFails(Kept):
    def close(self) -> None:
        raise AttributeError("it has no screen")


class CloseExits(Kept):
    def close(self) -> None:
        raise SystemExit


for kind in Kept.__subclasses__() + Missing.__subclasses__():
    gymnasium.register(f"{kind.__name__}-v0", kind, max_episode_steps=2 * LENGTH)
