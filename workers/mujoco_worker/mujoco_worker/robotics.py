"""Gymnasium-Robotics: Fetch, the Shadow hand, Adroit's hand, the kitchen, and ant and point mazes."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Iterator, Mapping

from mosaic_contract.arena import EnvironmentFacts, make_gymnasium

from .drawing import check_drawing, choose_backend
from .joints import actuator_names, facts_of_joints

_MODULE = "gymnasium_robotics."
_OLD = ("MujocoPy", "envs.mujoco.")  # classes and modules that require mujoco-py
_TASKS = {  # by id prefix; the first match counts
    "FetchPickAndPlace": "You control a robot's arm; it should take the block to the target.",
    "FetchPush": "You control a robot's arm; it should push the block to the target on the table.",
    "FetchReach": "You control a robot's arm; its gripper should reach the target.",
    "FetchSlide": "You control a robot's arm; it should hit the puck so that it slides to the target.",
    "HandReach": "You control a hand with five fingers; their tips should reach the targets.",
    "HandManipulate": "You control a hand with five fingers; it should turn the object in it as shown.",
    "AdroitHandDoor": "You control a hand; it should undo the latch and open the door.",
    "AdroitHandHammer": "You control a hand; it should pick up the hammer and drive the nail into the board.",
    "AdroitHandPen": "You control a hand; it should turn the pen as the target is.",
    "AdroitHandRelocate": "You control a hand; it should take the ball to the target.",
    "AntMaze": "You control an ant with four legs in a maze; it should reach the target.",
    "FrankaKitchen": "You control a robot's arm in a kitchen; it should complete the tasks there.",
    "PointMaze": "You push a ball through a maze; it should reach the target.",
}
_FETCH = ("gripper to the front", "gripper to the left", "gripper up", "fingers apart")


@lru_cache(maxsize=None)
def ids() -> tuple[str, ...]:
    choose_backend()
    import gymnasium
    import gymnasium_robotics

    gymnasium.register_envs(gymnasium_robotics)
    return tuple(
        name
        for name, spec in gymnasium.registry.items()
        if str(spec.entry_point).startswith(_MODULE) and not any(old in str(spec.entry_point) for old in _OLD)
    )


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    check_drawing(render_mode)
    with _temporary_files_removed():
        return make_gymnasium(env_id, settings, render_mode)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    name = env.spec.id
    task = next(text for begin, text in _TASKS.items() if name.startswith(begin))
    names = _FETCH if name.startswith("Fetch") else actuator_names(_model(env.unwrapped))
    return facts_of_joints(names, env.action_space, task)


def _model(inner: Any) -> Any:
    """Return the MuJoCo model; in mazes and the kitchen it belongs to an inner environment."""
    for name in ("ant_env", "point_env", "robot_env"):
        inner = getattr(inner, name, inner)
    return inner.unwrapped.model


@contextmanager
def _temporary_files_removed() -> Iterator[None]:
    """Remove temporary files afterwards: upstream writes mazes to files for MuJoCo and leaves them behind."""
    previous_folder = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="mosaic-maze-") as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = previous_folder
