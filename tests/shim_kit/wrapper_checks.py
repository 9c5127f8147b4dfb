"""Checks of Gymnasium's and users' wrappers, run by a worker's interpreter.

Not a test: `PYTHON tests/shim_kit/wrapper_checks.py FOLDER` raises if a check fails, else prints `true`.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from mosaic_contract import ConfigError, describe_space
from mosaic_contract.environment_spec import EnvironmentSpec
from mosaic_contract.gymnasium_wrappers import Statistics, outside_class, training_statistics, with_time_limit
from mosaic_contract.played_wrappers import as_policy_sees, through_wrappers
from mosaic_contract.wrappers import observation_transform, wrap

OWN = """
import gymnasium

class Times(gymnasium.ObservationWrapper):
    def __init__(self, env, factor=2):
        super().__init__(env)
        self.factor = factor

    def observation(self, observation):
        return self.factor * observation

class Repeats(gymnasium.Wrapper):
    def step(self, action):
        self.env.step(action)
        return self.env.step(action)
"""
HALF = np.float32([0.5])


class Vectors(gymnasium.Env[Any, Any]):
    """Observations count the steps; actions range from -2 to 2."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)

    def reset(self, **options: Any) -> Any:
        self.steps = 0
        return np.float32([0, 10]), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.action = action
        return np.float32([self.steps, 10]), 1.0, False, False, {}


class Remembering:
    """An operator that always plays 0.5 and records its observations."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def select_action(self, observation: Any) -> Any:
        self.seen.append(observation)
        return HALF


def player_of(wrappers: list[Any], **described: Any) -> tuple[Any, Remembering]:
    """Return an operator as played through wrappers, and the operator itself."""
    env = Vectors()
    described["observation_space"] = describe_space(env.observation_space)
    described["action_space"] = describe_space(env.action_space)
    operator = Remembering()
    seen = as_policy_sees({"env_id": "Vectors-v0", "wrappers": wrappers, **described})
    return through_wrappers(seen, operator), operator


def check_played_as_trained(own: str) -> None:
    """Check that statistics cover all environments and that a policy observes and acts as in training."""
    wrappers = [
        {f"{own}:Times": {"factor": 3}}, "normalize_observation", {"frame_stack": 2}, "flat",
        {"rescale_action": [-1, 1]}, "normalize_reward", {"time_limit": 5},
    ]  # fmt: skip
    for env in [wrap(with_time_limit(Vectors(), wrappers), wrappers, "Vectors-v0") for _ in range(2)]:
        env.reset()
        assert [env.step(HALF)[3] for _ in range(5)] == [False] * 4 + [True]
        assert np.isclose(env.unwrapped.action, 1.0)
    statistics = training_statistics().describe()
    assert set(statistics) == {"normalize_observation", "normalize_reward"}
    moments = statistics["normalize_observation"]
    assert np.isclose(moments["count"], 12, atol=0.01), "the statistics do not cover both environments"

    player, operator = player_of(wrappers, wrapper_statistics=statistics)
    for step in range(3):
        assert np.isclose(player.select_action(np.float32([step, 10])), 1.0)
    player.episode_begin(1, 1)
    player.select_action(np.float32([0, 10]))
    first = (3 * np.array([0, 10]) - moments["mean"]) / np.sqrt(np.array(moments["var"]) + 1e-8)
    assert np.allclose(operator.seen[0][2:], first, rtol=1e-4)
    assert np.allclose(operator.seen[2][:2], operator.seen[1][2:])
    assert np.allclose(operator.seen[3], operator.seen[0]), "the frame stack was not reset"


def check_refused(own: str) -> None:
    """Check that wrappers that cannot be played or created are refused, with the nearest name."""
    player, _ = player_of([f"{own}:Repeats"])
    player.select_action(np.float32([0, 10]))
    assert "repeats steps or changes actions in step" in reason(player.select_action, np.float32([1, 10]))
    refused = {
        "the wrapper 'frame_stack' has no parameter 'kk'; did you mean 'k'?": {"frame_stack": {"kk": 3}},
        "'frame_stack': k must be an integer ≥ 1, got 0": {"frame_stack": 0},
        "'frame_stack' takes k; got [2, 3]": {"frame_stack": [2, 3]},
        "'time_limit' needs steps": "time_limit",
        "'flat' has no parameters": {"flat": 3},
        "did you mean 'normalize_observation'?": "normalise_observation",
        "grey cannot be used on observations Box": "grey",
        "there is no file /none.py": "/none.py:Own",
        "has no class 'Time'; did you mean 'Times'?": f"{own}:Time",
    }
    for why, wrapper in refused.items():
        said = reason(EnvironmentSpec.of("Vectors-v0", Vectors()).wrapped, [wrapper])
        assert why in said, said


def reason(call: Any, *arguments: Any) -> str:
    try:
        call(*arguments)
    except ConfigError as error:
        return str(error)
    raise AssertionError(f"{arguments} was not refused")


def check_pictures() -> None:
    space = gymnasium.spaces.Box(0, 255, (60, 80, 3), np.uint8)
    outside = outside_class()(space, gymnasium.spaces.Discrete(2))
    names = ["grey", {"resize": [20, 30]}, {"frame_stack": 4}]
    wrapped = wrap(outside, names, "Pictures-v0", Statistics())
    assert wrapped.observation_space == gymnasium.spaces.Box(0, 255, (20, 30, 4), np.uint8)
    outside.observation = picture = np.random.default_rng(0).integers(0, 256, space.shape, np.uint8)
    of_agent = observation_transform(describe_space(space), names[:2], "Pictures-v0")  # for each team member
    assert (of_agent.observe(picture)[..., 0] == wrapped.reset()[0][..., -1]).all()


if __name__ == "__main__":
    file = Path(sys.argv[1], "own.py")
    file.write_text(OWN)
    check_played_as_trained(str(file))
    check_refused(str(file))
    if importlib.util.find_spec("cv2"):  # not installed with CleanRL's release
        check_pictures()
    print("true")
