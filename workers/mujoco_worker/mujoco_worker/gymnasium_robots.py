"""Gymnasium's own MuJoCo environments, versions 4 and 5. (Older versions need mujoco-py.)"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Mapping

from mosaic_contract.arena import EnvironmentFacts, make_gymnasium

from .drawing import check_drawing, choose_backend
from .joints import actuator_names, facts_of_joints

_TASKS = {
    "Ant": "You control an ant with four legs of two parts each; it should walk to the right, fast.",
    "HalfCheetah": "You control a cheetah that lives in a plane; it should run to the right, fast.",
    "Hopper": "You control a figure with one leg that lives in a plane; it should hop to the right.",
    "Humanoid": "You control a humanoid; it should walk forward, fast, without falling over.",
    "HumanoidStandup": "You control a humanoid that lies on the ground; it should stand up and stay so.",
    "InvertedPendulum": "You push a cart along a line; the pole on it should stay upright.",
    "InvertedDoublePendulum": "You push a cart along a line; the two poles on it, one upon the other, should"
    " stay upright.",
    "Pusher": "You control an arm with seven joints; it should push the cylinder to the goal.",
    "Reacher": "You control an arm with two joints; its tip should reach the target.",
    "Swimmer": "You control a swimmer of three links in a plane; it should swim to the right, fast.",
    "Walker2d": "You control a figure with two legs that lives in a plane; it should walk to the right.",
}

_TOO_OLD = "Pusher-v4"  # requires MuJoCo < 3


@lru_cache(maxsize=None)
def ids() -> tuple[str, ...]:
    import gymnasium

    ids = (f"{name}-v{version}" for name in _TASKS for version in (4, 5))
    return tuple(env_id for env_id in ids if env_id in gymnasium.registry and env_id != _TOO_OLD)


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    choose_backend()
    check_drawing(render_mode)
    return make_gymnasium(env_id, settings, render_mode)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    task = _TASKS[env.spec.id.rpartition("-v")[0]]
    return facts_of_joints(actuator_names(env.unwrapped.model), env.action_space, task)
