"""highway-env: driving among other cars, seen from above."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any, Mapping

import gymnasium
from mosaic_contract.arena import EnvironmentFacts, check_settings, make_gymnasium

_MODULE = "highway_env."
_SEVERAL = "multi-agent"  # actions and rewards are tuples
_DUMMY = ("SDL_VIDEODRIVER", "dummy")
_KEYS = {  # upstream's
    "LANE_LEFT": "ArrowUp",
    "LANE_RIGHT": "ArrowDown",
    "FASTER": "ArrowRight",
    "SLOWER": "ArrowLeft",
    "IDLE": " ",
}
_TASKS = {  # by id prefix; the first match counts
    "exit": "Leave the highway by the exit.",
    "highway": "Drive fast on a highway with other cars, on the right, without a collision.",
    "intersection": "Cross an intersection with other cars, without a collision.",
    "lane-keeping": "Keep the car in the middle of its lane.",
    "merge": "Drive on a highway, and let cars in that come from a ramp, without a collision.",
    "parking": "Park the car in the place that is the goal, in its direction.",
    "racetrack": "Follow the track, without a collision.",
    "roundabout": "Drive through a roundabout with other cars, fast and without a collision.",
    "two-way": "Overtake on a road with oncoming cars, without a collision.",
    "u-turn": "Make a turn into the opposite direction among other cars, without a collision.",
}


@lru_cache(maxsize=None)
def ids() -> tuple[str, ...]:
    import highway_env

    gymnasium.register_envs(highway_env)
    return tuple(
        name
        for name, spec in gymnasium.registry.items()
        if str(spec.entry_point).startswith(_MODULE) and _SEVERAL not in name
    )


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    if os.environ.get(_DUMMY[0]) == _DUMMY[1]:
        del os.environ[_DUMMY[0]]  # this variable disables upstream's rendering, which needs no window
    env = make_gymnasium(env_id, settings, None)
    config = settings.get("config") or {}
    check_settings(f"the config of {env_id}", config, lambda: None, also=list(env.unwrapped.default_config()))
    env.unwrapped.render_mode = render_mode  # some classes lack this keyword
    return FixedSpaces(env)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    task = next(text for begin, text in _TASKS.items() if env.spec.id.startswith(begin))
    instructions = f"You drive a car. {task} {_observation_text(env.unwrapped)}".strip()
    action_type = env.unwrapped.action_type
    actions = getattr(action_type, "actions", None)
    if isinstance(actions, dict):
        names = [actions[number] for number in range(len(actions))]
        keys = {_KEYS[name]: number for number, name in enumerate(names)}
        return EnvironmentFacts(
            [name.lower().replace("_", " ") for name in names], keys, instructions=instructions
        )
    if len(env.action_space.shape or ()) == 1:
        return _continuous(action_type, instructions)
    return EnvironmentFacts(instructions=instructions)


def _continuous(action_type: Any, instructions: str) -> EnvironmentFacts:
    """Return information about a car with continuous controls: left/right steer, up/down accelerate."""
    names = ["acceleration"] * action_type.longitudinal + ["steering"] * action_type.lateral
    keys: dict[str, list[float]] = {}
    if action_type.longitudinal:
        keys |= {"ArrowUp": [1.0, 0.0][: len(names)], "ArrowDown": [-1.0, 0.0][: len(names)]}
    if action_type.lateral:
        keys |= {"ArrowLeft": [0.0, -1.0][-len(names) :], "ArrowRight": [0.0, 1.0][-len(names) :]}
    return EnvironmentFacts(names, {**keys, " ": [0.0] * len(names)}, instructions=instructions)


def _observation_text(inner: Any) -> str:
    """Return the meaning of an observation's rows and columns, if it is a table of cars."""
    features = getattr(inner.observation_type, "features", None)
    if type(inner.observation_type).__name__ != "KinematicObservation" or not features:
        return ""
    names = re.sub(r"[\[\]']", "", str(list(features)))
    return f"You observe a table with a row for each car, yours first, and the columns {names}."


class FixedSpaces(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Keeps the spaces constant, and removes the random action that upstream adds to a reset's info."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space, self.observation_space = env.action_space, env.observation_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {name: value for name, value in info.items() if name not in ("action", "rewards")}
